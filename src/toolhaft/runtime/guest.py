"""One client of a living process: from its first word to its last, with what the program wants done
before and after."""

import asyncio
import contextlib
import importlib
import inspect
import logging
import os
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Final, TypeAlias

from ..protocol.framing import Framer
from ..protocol.ports import Place
from .ears import Loop
from .ended import Ended, end_of
from .handed import Handed, NotedOutput
from .hearing import Ear, ManyEars
from .service import Service, connected
from .stdio import Input, Output

log = logging.getLogger(__name__)

Hook: TypeAlias = Callable[[], Any]

_A_MOMENT: Final = 0.05


class Refused(Exception):
    """What was asked cannot be had; the message is for a person."""


class Hooks:
    """What is done when a client comes, and when it has gone."""

    def __init__(self, service: Service, place: Place | None) -> None:
        self._service = service
        self._place = place

    @contextlib.asynccontextmanager
    async def around(self, init: Hook | None, stop: Hook | None) -> AsyncGenerator[None]:
        """Do the one now and the other at the end, whatever happens, and be it that the first has
        failed: it may have done half of its work.

        Raises:
            Refused: the first has failed.
        """
        try:
            if init is not None:
                await self._init(init)
            yield
        finally:
            if stop is not None:
                await self._stop(stop)

    async def _init(self, hook: Hook) -> None:
        try:
            await self._call(hook)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # SystemExit, too, is its own affair
            log.error("init %s failed, so a client is not served", _told(hook), exc_info=error)
            raise Refused(f"init {_told(hook)} failed: {type(error).__name__}: {error}") from None

    async def _stop(self, hook: Hook) -> None:
        try:
            await self._call(hook)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # SystemExit, too, is its own affair
            log.error("stop %s failed", _told(hook), exc_info=error)

    async def _call(self, hook: Hook) -> None:
        """Where the functions of the program run."""
        place = self._place
        if inspect.iscoroutinefunction(hook):
            await (hook() if place is None or not place.takes_coroutines else place.run(hook))
        elif place is not None:
            await place.call(hook)
        else:
            await self._on_thread(hook)

    async def named(self, reference: str | None) -> Hook | None:
        """See the function of this name. An import may take long, and others are served here."""
        return None if reference is None else await self._on_thread(lambda: named(reference))

    async def _on_thread(self, hook: Hook) -> Any:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Ended] = loop.create_future()

        def work() -> None:
            try:
                ended = Ended(hook())
            except BaseException as error:
                ended = Ended(error=error if isinstance(error, Exception) else _harmless(error))
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
                loop.call_soon_threadsafe(done.set_result, ended)

        self._service.lane.submit(work)
        await end_of(done)
        return done.result().value()


def named(reference: str) -> Hook:
    """The function that a bridge names as `module:function`.

    Raises:
        Refused: there is none in this process.
    """
    module, _, path = reference.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        raise Refused(f"{reference!r} cannot be had here: {why}") from None
    if not callable(found):
        raise Refused(f"{reference!r} is no function")
    hook: Hook = found
    return hook


def _told(hook: Hook) -> str:
    module = getattr(hook, "__module__", None)
    name = getattr(hook, "__qualname__", repr(hook))
    return f"{module}:{name}" if module else name


def _harmless(error: BaseException) -> Exception:
    """SystemExit and its like would end the loop."""
    return RuntimeError(repr(error))


async def converse(
    service: Service,
    wire: socket.socket,
    rest: bytes,
    *,
    handed: Handed,
    loop: Loop,
    place: Place | None,
    ending: asyncio.Event,
) -> None:
    """Serve a client until it has gone, or has said all and got its answers, or the service ends.

    Args:
        rest: what has come behind the first line.
    """
    limits, journal = service.limits, handed.journal
    framer = Framer(limits.message_bytes)
    if journal is None:
        reads = writes = wire.fileno()
        output = Output(writes, framer, limits.waiting_bytes)
    else:
        reads, writes = handed.input, handed.output
        output = NotedOutput(handed, framer, limits.waiting_bytes, journal)
    over, gone = asyncio.Event(), asyncio.Event()
    assert isinstance(loop.ears, ManyEars)
    ear, leash = Ear(loop.ears, over.set), Ear(loop.ears, over.set)

    def left() -> None:
        over.set()
        gone.set()

    try:
        async with connected(
            service,
            output.send,
            send_pieces=output.send_pieces,
            drained=output.drained,
            throttle=output.throttle,
            full=output.is_full,
            place=place,
        ) as connection:
            input_ = Input(
                reads,
                framer,
                output,
                connection,
                ended=over.set,
                patience=limits.shutdown_seconds if journal is None else None,
                read=os.read if journal is None else journal.read,
            )
            input_.start(ear)
            if journal is not None:
                leash.await_end(wire.fileno(), left)
            if rest:
                framer.feed(rest)
                loop.call_soon(input_.serve)
            await _first(over.wait(), ending.wait())
            # The client has said all. As long as it is there, its calls may take their time.
            ear.ignore()
            ear.await_end(writes, gone.set)
            connection.driver.closing.set()
            await _first(gone.wait(), ending.wait(), connection.driver.quiet(None))
            output.end()
        await _deliver(output, limits.shutdown_seconds, lambda: gone.is_set() or ending.is_set())
    finally:
        ear.ignore()
        leash.ignore()
        output.close()
        handed.close()


async def _deliver(output: Output, seconds: float, hurry: Callable[[], bool]) -> None:
    """Whoever is there gets everything that was answered, however late it reads: that it has gone
    would be told. There is a limit only if somebody is in a hurry."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not output.empty and loop.time() < deadline:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(output.emptied(), _A_MOMENT)
        if not hurry():
            deadline = loop.time() + seconds


async def _first(*waits: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of these has come."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
