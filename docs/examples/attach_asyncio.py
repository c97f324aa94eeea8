import asyncio
from contextlib import suppress

from toolhaft import Server

server = Server("counter", version="1.0.0")
state = {"ticks": 0}


@server.tool
async def reset() -> int:
    """Begin at 0 again; the count so far."""
    before, state["ticks"] = state["ticks"], 0
    return before


async def main() -> None:
    async with server.attach(run_on=asyncio.get_running_loop()):
        while True:
            state["ticks"] += 1
            await asyncio.sleep(0.01)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
