"""What the core needs from outside, as interfaces only."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, TypeAlias

from .framing import Frame

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
    """The author's lifespan while it is served, or several of them."""

    @property
    def entered(self) -> bool: ...
    def join(self) -> None: ...
    async def leave(self) -> None: ...
    async def wait(self) -> None: ...


class OwnLifespan(LifespanState, Protocol):
    """A single one, and what it has yielded."""

    @property
    def value(self) -> Any: ...


class Store(Protocol):
    """Keeps values for others to find, perhaps in another process. Each has a time to live."""

    async def get(self, key: str, /) -> bytes | None:
        """The value, if it is still there."""
        ...

    async def put(self, key: str, value: bytes, /, *, seconds: float) -> None:
        """Keep a value for so long from now."""
        ...

    async def delete(self, key: str, /) -> None:
        """Forget a value, or a log."""
        ...

    async def append(self, key: str, values: list[bytes], /, *, after: int, seconds: float) -> None:
        """Add to a log that has had so many values before; keep all of it for so long from now. A
        log that is not there (any more) begins with these."""
        ...

    async def after(self, key: str, position: int, /) -> list[bytes] | None:
        """What was added to a log behind this many values. None: there is no such log, or it does
        not reach back so far."""
        ...


class Bus(Protocol):
    """Carries short messages to whoever has subscribed, perhaps in another process. One may be
    lost: what must not be is in the store."""

    async def publish(self, topic: str, message: bytes, /) -> None:
        """Tell all subscribers of a topic."""
        ...

    async def subscribe(
        self, topic: str, hear: Callable[[bytes], None], /
    ) -> Callable[[], Awaitable[None]]:
        """Hear what is published from now on; the result ends that."""
        ...


# Who is behind a request, by its headers; None turns it away, and so does `Unauthorized`, which can
# say how to be let in.
Guard: TypeAlias = Callable[[Mapping[str, str]], "str | Awaitable[str | None] | None"]


class Traffic(Protocol):
    """Where each message is written down."""

    def connection(self) -> str:
        """A name for another client."""
        ...

    def message(self, direction: Literal["in", "out"], connection: str, frame: Frame, /) -> None:
        """A message that came or goes. From any thread; never raises."""
        ...


class Place(Protocol):
    """Where a program wants functions to run that touch its state."""

    @property
    def takes_coroutines(self) -> bool:
        """Can they wait there?"""
        ...

    async def call(self, work: Callable[[], Any], /, *, always: bool = False) -> Any:
        """What a plain function gives there. Who is cancelled before it has begun does not wait for
        it, and it is not begun any more, unless it is due always.

        Raises:
            ToolError: there is no such place any more.
        """
        ...

    async def run(self, begin: Callable[[], Coroutine[Any, Any, Any]], /) -> Any:
        """What a coroutine gives there. Who is cancelled cancels it, too.

        Raises:
            ToolError: there is no such place any more, or it was cancelled there.
        """
        ...
