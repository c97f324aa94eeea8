"""What the core needs from outside, as interfaces only."""

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeAlias

# Lets so many calls through at once.
Gate: TypeAlias = AbstractAsyncContextManager[None]


class Reader(Protocol):
    """The half of a stream that a client writes to, such as `asyncio.StreamReader`."""

    async def read(self, n: int, /) -> bytes: ...


class Writer(Protocol):
    """The half of a stream that a client reads from, such as `asyncio.StreamWriter`."""

    def write(self, data: bytes, /) -> None: ...
    async def drain(self) -> None: ...


class LifespanState(Protocol):
    """The author's lifespan while it is served."""

    value: Any

    @property
    def entered(self) -> bool: ...
    def join(self) -> None: ...
    async def leave(self) -> None: ...
    async def wait(self) -> None: ...
