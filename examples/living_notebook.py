"""A notebook that lives in this process: you write in the terminal, a model reads and writes."""
# Run it, and in another terminal: toolhaft ps. The command for a client: toolhaft attach notebook

import asyncio
import threading

from toolhaft import Server

server = Server("notebook", version="1.0.0")
pages: list[str] = []


@server.tool(read_only=True)
async def read() -> list[str]:
    """All pages of the notebook."""
    return pages


@server.tool
async def write(text: str) -> str:
    """Write a page; whoever sits at the terminal sees it at once."""
    pages.append(text)
    print(f"(model) {text}", flush=True)
    return f"page {len(pages)}"


async def main() -> None:
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def listen() -> None:  # on a thread that nobody waits for, so that Ctrl-C ends the program
        with open(0, closefd=False) as terminal:
            for line in terminal:
                loop.call_soon_threadsafe(pages.append, line.strip())
        loop.call_soon_threadsafe(done.set)

    async with server.attach(run_on=loop) as attached:  # tools and program take turns on `pages`
        threading.Thread(target=listen, daemon=True).start()
        print(f"attached as {attached.name}; write something, Ctrl-D ends", flush=True)
        await done.wait()


if __name__ == "__main__":
    asyncio.run(main())
