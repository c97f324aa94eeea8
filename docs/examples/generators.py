from collections.abc import AsyncIterator, Generator, Iterator

from toolhaft import Server

server = Server("steps", version="1.0.0")


@server.tool
def bake(loaves: int) -> Iterator[str]:
    """Each value is progress, and the last one is the result as well."""
    for number in range(1, loaves + 1):
        yield f"loaf {number} is done"


@server.tool
async def brew(cups: int) -> AsyncIterator[str]:
    """The same for a coroutine."""
    for number in range(1, cups + 1):
        yield f"cup {number} is full"


@server.tool
def weigh(bags: list[float]) -> Generator[str, None, float]:
    """What a plain generator returns is its result, and what it yields only progress."""
    total = 0.0
    for bag in bags:
        total += bag
        yield f"{total} kg so far"
    return total
