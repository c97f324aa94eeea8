"""The lifespan of a server, together with those of its included servers."""

import inspect
from collections.abc import Callable
from contextlib import AsyncContextDecorator, AsyncExitStack

from ..protocol.ports import LifespanState

_HOW = "write it as: @asynccontextmanager, async def lifespan(server), and a yield"
_WRONG: tuple[tuple[Callable[[object], bool], str], ...] = (
    (inspect.isasyncgenfunction, "an async generator; put @contextlib.asynccontextmanager above"),
    (inspect.isgeneratorfunction, f"a plain generator; {_HOW}"),
    (inspect.iscoroutinefunction, f"a coroutine function; {_HOW}"),
    (
        lambda given: isinstance(given, AsyncContextDecorator),
        "what the function gives when it is called; give the function itself",
    ),
)


def check_lifespan(function: object) -> None:
    """Check that a function takes the server and can return an async context manager.

    Raises:
        TypeError: it cannot, as far as its signature shows.
    """
    for is_wrong, words in _WRONG:
        if is_wrong(function):
            raise TypeError(f"Server: lifespan is {words}")
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return  # a builtin without a signature
    try:
        signature.bind("server")
    except TypeError as error:
        raise TypeError(f"Server: lifespan is called with the server: {error}; {_HOW}") from None


class Lifespans:
    """The lifespans of a server and of its included servers. Each transport that serves joins all
    of them; a lifespan that is added while serving is joined by the first call that needs it."""

    def __init__(self, own: LifespanState | None) -> None:
        self._members: list[LifespanState] = [] if own is None else [own]
        # Members that were added, and members that were removed, while serving.
        self._late: list[LifespanState] = []
        self._gone: list[LifespanState] = []
        # Transports that serve now.
        self._users = 0

    @property
    def entered(self) -> bool:
        """Whether all members are entered, so that calls can start."""
        return all(member.entered for member in self._members)

    @property
    def has_late(self) -> bool:
        """Whether a member was added while serving and is not joined yet."""
        return bool(self._late)

    def add(self, member: LifespanState) -> None:
        """Add the lifespan of an included server."""
        (self._late if self._users else self._members).append(member)

    def discard(self, member: LifespanState) -> None:
        """Remove a lifespan. Transports that have joined it leave it when they end."""
        if member in self._late:
            self._late.remove(member)
        elif self._users:
            self._gone.append(member)
        else:
            self._members.remove(member)

    def join(self) -> None:
        """Join all members, for a transport that starts to serve. Does not wait."""
        self.join_late()
        self._users += 1
        for member in self._members:
            member.join()

    def join_late(self) -> None:
        """Join the late members, once for each transport that serves. On the event loop."""
        while self._late:
            member = self._late.pop(0)
            for _ in range(self._users):
                member.join()
            self._members.append(member)

    async def leave(self) -> None:
        """Leave all members, the last one first, for a transport that has ended."""
        self._users -= 1
        members = list(self._members)
        if not self._users:
            for member in self._gone:
                self._members.remove(member)
            self._gone.clear()
            self._members += self._late
            self._late.clear()
        # The stack leaves the remaining members even if a cancellation interrupts one `leave`.
        async with AsyncExitStack() as stack:
            for member in members:
                stack.push_async_callback(member.leave)

    async def wait(self) -> None:
        """Wait until all members are entered."""
        for member in list(self._members):
            await member.wait()
