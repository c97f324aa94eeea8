from toolhaft import Server

server = Server("lenient", version="1.0.0")


@server.tool
def add(numbers: list[int]) -> int:
    """Takes [1, 2], and what models write instead: ["1", "2"] or "[1, 2]"."""
    return sum(numbers)


@server.tool(strict=True)
def add_strictly(numbers: list[int]) -> int:
    """Takes [1, 2]."""
    return sum(numbers)
