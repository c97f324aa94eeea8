"""Interfaces that the protocol layer needs and other layers implement."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, TypeAlias

from .framing import Frame

# Bounds the calls that run at the same time.
Gate: TypeAlias = AbstractAsyncContextManager[None]


class Reader(Protocol):
    """The half of a stream that a client writes to, such as `asyncio.StreamReader`."""

    async def read(self, n: int, /) -> bytes: ...


class Writer(Protocol):
    """The half of a stream that a client reads from, such as `asyncio.StreamWriter`."""

    def write(self, data: bytes, /) -> None: ...
    async def drain(self) -> None: ...


class LifespanState(Protocol):
    """One or several lifespans of the author, while serving."""

    @property
    def entered(self) -> bool: ...
    def join(self) -> None: ...
    async def leave(self) -> None: ...
    async def wait(self) -> None: ...


class OwnLifespan(LifespanState, Protocol):
    """A single lifespan, with the value that it yielded."""

    @property
    def value(self) -> Any: ...


class Store(Protocol):
    """Key-value store with a time to live per entry, possibly shared between processes."""

    async def get(self, key: str, /) -> bytes | None:
        """Return the value, or None if there is none any more."""
        ...

    async def put(self, key: str, value: bytes, /, *, seconds: float) -> None:
        """Store a value for this many seconds."""
        ...

    async def delete(self, key: str, /) -> None:
        """Delete a value or a log."""
        ...

    async def append(self, key: str, values: list[bytes], /, *, after: int, seconds: float) -> None:
        """Append to a log and keep all of it for this many seconds.

        Args:
            after: the number of values appended before; the position at which a log that does not
                exist (any more) begins with these.
        """
        ...

    async def after(self, key: str, position: int, /) -> list[bytes] | None:
        """Return the values of a log after a position; None if the log, or that part, is gone."""
        ...


class Bus(Protocol):
    """Publishes short messages to subscribers, possibly in other processes.

    A message may be lost; data that must not be is in the store."""

    async def publish(self, topic: str, message: bytes, /) -> None:
        """Send a message to all subscribers of a topic."""
        ...

    async def subscribe(
        self, topic: str, hear: Callable[[bytes], None], /
    ) -> Callable[[], Awaitable[None]]:
        """Call `hear` with each message from now on; the result ends the subscription."""
        ...


# Returns the principal of an HTTP request by its headers. None refuses the request, and so does
# raising `Unauthorized`, which can name an authentication challenge.
Guard: TypeAlias = Callable[[Mapping[str, str]], "str | Awaitable[str | None] | None"]


class Traffic(Protocol):
    """A log of all messages."""

    def connection(self) -> str:
        """Return a name for a new connection."""
        ...

    def message(self, direction: Literal["in", "out"], connection: str, frame: Frame, /) -> None:
        """Log an incoming or outgoing message. From any thread; never raises."""
        ...


class Place(Protocol):
    """Where functions that touch a program's state have to run, such as its main thread."""

    @property
    def takes_coroutines(self) -> bool:
        """Whether coroutines can run there."""
        ...

    async def call(self, work: Callable[[], Any], /, *, always: bool = False) -> Any:
        """Run a plain function there and return its value.

        A cancellation before it has started returns at once and drops it, unless `always` is set.

        Raises:
            ToolError: the place no longer exists.
        """
        ...

    async def run(self, begin: Callable[[], Coroutine[Any, Any, Any]], /) -> Any:
        """Run a coroutine there and return its value. Cancelling the caller cancels it, too.

        Raises:
            ToolError: the place no longer exists, or the coroutine was cancelled there.
        """
        ...
