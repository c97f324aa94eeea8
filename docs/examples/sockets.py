import asyncio

from toolhaft import Server

server = Server("demo", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Each connection is a client of its own."""
    await server.serve(reader, writer)
    writer.close()


async def main() -> None:
    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    print("listening on port", listener.sockets[0].getsockname()[1], flush=True)
    await listener.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
