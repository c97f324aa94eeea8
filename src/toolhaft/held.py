"""Ways to serve that are held back while a target is loaded.

A file may end with `server.run()` and nothing around it. Who loads it wants the server, and serves
it in a way of its own, or not at all; so `run()` then returns at once. A thread that the file
starts is not held back: what serves there holds up nobody.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, TypeAlias

Way: TypeAlias = Literal["stdio", "http"]

_held: Final[ContextVar[tuple[Way, ...]]] = ContextVar("held", default=())


@contextmanager
def held_back(*ways: Way) -> Generator[None]:
    """For the code of this block, and what it calls."""
    before = _held.set(ways)
    try:
        yield
    finally:
        _held.reset(before)


def is_held_back(way: Way) -> bool:
    """Is somebody about to serve in another way?"""
    return way in _held.get()
