"""Ways to serve that are held back while a target is loaded.

A file may end with `server.run()` and nothing around it. A command that loads it wants the server,
and serves it in a way of its own, or not at all; so `run()` then returns at once. What it was given
is kept, since a guard that is not used must not go unnoticed. A thread that the file starts is not
held back: what serves there holds up nothing.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, NamedTuple, TypeAlias

Way: TypeAlias = Literal["stdio", "http"]


class _Held(NamedTuple):
    ways: tuple[Way, ...]
    given: set[str]


_held: Final[ContextVar[_Held | None]] = ContextVar("held", default=None)


@contextmanager
def held_back(*ways: Way) -> Generator[set[str]]:
    """For the code of this block, and what it calls. Gives the names of the options that were
    given to what was held back."""
    held = _Held(ways, set())
    before = _held.set(held)
    try:
        yield held.given
    finally:
        _held.reset(before)


def is_held_back(way: Way, options: Mapping[str, object]) -> bool:
    """Is the server about to be served in another way, without these options?"""
    held = _held.get()
    if held is None or way not in held.ways:
        return False
    held.given.update(name for name, value in options.items() if value)
    return True
