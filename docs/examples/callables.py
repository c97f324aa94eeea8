from functools import partial

from toolhaft import Server

server = Server("callables", version="1.0.0")


class Counter:
    """What a server keeps can be an object, and its methods are tools."""

    def __init__(self) -> None:
        self.value = 0

    def count(self, by: int = 1) -> int:
        """Count on."""
        self.value += by
        return self.value

    @classmethod
    def about(cls) -> str:
        """Say what this is."""
        return f"a {cls.__name__}"


def power(base: int, exponent: int) -> int:
    """Raise a number to a power."""
    return base**exponent


counter = Counter()
server.add_tool(counter.count)
server.add_tool(counter.about)
server.add_tool(partial(power, exponent=2), name="square", description="Square a number.")
