"""A notebook that lives in this process: you write in the terminal, a model reads and writes too.

Run it, and in another terminal: toolhaft ps; or give a client the command: toolhaft attach notebook
"""

import asyncio
import sys

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
    # Tools run on this loop, so they and the program take turns on `pages`.
    async with server.attach(run_on=asyncio.get_running_loop()) as attached:
        print(f"attached as {attached.name}; write something, Ctrl-D ends", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            pages.append(line.strip())


if __name__ == "__main__":
    asyncio.run(main())
