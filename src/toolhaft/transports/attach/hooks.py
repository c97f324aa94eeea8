"""What a program wants done when a client comes to it, and when it has gone."""

import asyncio
import contextlib
import importlib
import inspect
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeAlias

from ...calls.service import Service
from ...process.outcome import Ended, end_of, ends_task
from ...protocol.ports import Place

log = logging.getLogger(__name__)

Hook: TypeAlias = Callable[[], Any]


class Refused(Exception):
    """What was asked cannot be had; the message is for a person."""


class Hooks:
    """Calls these functions where those of the program run."""

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
        except BaseException as error:  # SystemExit, too, is its own affair
            if ends_task(error):
                raise
            log.error("init %s failed, so a client is not served", _told(hook), exc_info=error)
            raise Refused(f"init {_told(hook)} failed: {type(error).__name__}: {error}") from None

    async def _stop(self, hook: Hook) -> None:
        try:
            await self._call(hook)
        except BaseException as error:  # SystemExit, too, is its own affair
            if ends_task(error):
                raise
            log.error("stop %s failed", _told(hook), exc_info=error)

    async def _call(self, hook: Hook) -> None:
        place = self._place
        if inspect.iscoroutinefunction(hook):
            await (hook() if place is None or not place.takes_coroutines else place.run(hook))
        elif place is not None:
            await place.call(hook)
        else:
            await self._on_thread(hook)

    async def find(self, reference: str | None) -> Hook | None:
        """See `named`. An import may take long, and others are served here."""
        return None if reference is None else await self._on_thread(lambda: named(reference))

    async def _on_thread(self, hook: Hook) -> Any:
        """What a plain function gives. Who is cancelled meanwhile learns of it when it has ended,
        so that nothing is cleaned up that it still uses."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Ended] = loop.create_future()

        def work() -> None:
            try:
                ended = Ended(hook())
            except BaseException as error:
                ended = Ended(error=error if isinstance(error, Exception) else _harmless(error))
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
                loop.call_soon_threadsafe(done.set_result, ended)

        self._service.thread_pool.submit(work)
        if await end_of(done):
            raise asyncio.CancelledError
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
