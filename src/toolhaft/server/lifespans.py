"""When calls may begin: the lifespan of a server, and those of the servers it includes."""

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
    """Can this give an async context manager, of the server?

    Raises:
        TypeError: it cannot, as far as that can be told without calling it.
    """
    for is_wrong, words in _WRONG:
        if is_wrong(function):
            raise TypeError(f"Server: lifespan is {words}")
    try:
        signature = inspect.signature(function)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return  # a builtin that does not say
    try:
        signature.bind("server")
    except TypeError as error:
        raise TypeError(f"Server: lifespan is called with the server: {error}; {_HOW}") from None


class Lifespans:
    """The lifespan of a server and those of the servers it includes. Whoever serves joins all of
    them; one that comes later is joined when it is needed."""

    def __init__(self, own: LifespanState | None) -> None:
        self._members: list[LifespanState] = [] if own is None else [own]
        # Those that came while somebody was served, and those that went.
        self._late: list[LifespanState] = []
        self._gone: list[LifespanState] = []
        self._users = 0

    @property
    def entered(self) -> bool:
        """May all calls begin?"""
        return all(member.entered for member in self._members)

    @property
    def is_late(self) -> bool:
        """Is somebody served who came before a member did?"""
        return bool(self._late)

    def add(self, member: LifespanState) -> None:
        """Include another one."""
        (self._late if self._users else self._members).append(member)

    def discard(self, member: LifespanState) -> None:
        """Include it no more; who has joined it leaves it in the end."""
        if member in self._late:
            self._late.remove(member)
        elif self._users:
            self._gone.append(member)
        else:
            self._members.remove(member)

    def join(self) -> None:
        """Somebody serves. Does not wait."""
        self.catch_up()
        self._users += 1
        for member in self._members:
            member.join()

    def catch_up(self) -> None:
        """Join those who came late, once for each who is served. On the loop."""
        while self._late:
            member = self._late.pop(0)
            for _ in range(self._users):
                member.join()
            self._members.append(member)

    async def leave(self) -> None:
        """Somebody has stopped serving, and leaves the latest first."""
        self._users -= 1
        members = list(self._members)
        if not self._users:
            for member in self._gone:
                self._members.remove(member)
            self._gone.clear()
            self._members += self._late
            self._late.clear()
        # A cancellation that interrupts one of them does not keep the others from being left.
        async with AsyncExitStack() as stack:
            for member in members:
                stack.push_async_callback(member.leave)

    async def wait(self) -> None:
        """Wait until all calls may begin."""
        for member in list(self._members):
            await member.wait()
