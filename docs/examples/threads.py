import asyncio
import threading
import time

from toolhaft import Server

server = Server("threads", version="1.0.0")


@server.tool
def on_a_thread() -> str:
    """May block: it holds its own thread and nothing else."""
    time.sleep(0.1)
    return threading.current_thread().name


@server.tool
async def on_the_loop() -> str:
    """May wait, as long as it awaits what it waits for."""
    await asyncio.sleep(0.1)
    return threading.current_thread().name


@server.tool(thread=False)
def at_once(a: int, b: int) -> int:
    """Only computes, so it needs no thread."""
    return a * b
