"""Suppression of `run()` while a command loads a file.

A file may end with an unguarded `server.run()`. A command that loads the file needs only the
server, which it serves by another transport or not at all; so `run()` then returns at once. The
names of its options are recorded, since a `guard` must not be dropped unnoticed. In a thread that
the file starts, `run()` does serve: it does not block the command.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, NamedTuple, TypeAlias

Transport: TypeAlias = Literal["stdio", "http"]


class _HeldBack(NamedTuple):
    transports: tuple[Transport, ...]
    options: set[str]


_held: Final[ContextVar[_HeldBack | None]] = ContextVar("held", default=None)


@contextmanager
def held_back(*transports: Transport) -> Generator[set[str]]:
    """Make `run()` return at once in this block, for these transports. Yields a set that receives
    the names of the options of suppressed calls."""
    held = _HeldBack(transports, set())
    before = _held.set(held)
    try:
        yield held.options
    finally:
        _held.reset(before)


def is_held_back(transport: Transport, options: Mapping[str, object]) -> bool:
    """Whether `run()` is suppressed for a transport. Records the names of its options if so."""
    held = _held.get()
    if held is None or transport not in held.transports:
        return False
    held.options.update(name for name, value in options.items() if value)
    return True
