"""`init` and `stop` functions, which run before and after each attached client is served."""

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
    """A request of a bridge that is refused; the message is shown to the user."""


class Hooks:
    """Runs these functions at `place` if it takes them, else on the loop or a worker thread."""

    def __init__(self, service: Service, place: Place | None) -> None:
        self._service = service
        self._place = place

    @contextlib.asynccontextmanager
    async def around(self, init: Hook | None, stop: Hook | None) -> AsyncGenerator[None]:
        """Run `init` now and `stop` at the end, even if `init` failed: it may be half done.

        Raises:
            Refused: `init` has failed.
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
        except BaseException as error:  # SystemExit, too, must not end the host
            if ends_task(error):
                raise
            name = _qualified_name(hook)
            log.error("init %s failed, so a client is not served", name, exc_info=error)
            raise Refused(f"init {name} failed: {type(error).__name__}: {error}") from None

    async def _stop(self, hook: Hook) -> None:
        try:
            await self._call(hook)
        except BaseException as error:  # SystemExit, too, must not end the host
            if ends_task(error):
                raise
            log.error("stop %s failed", _qualified_name(hook), exc_info=error)

    async def _call(self, hook: Hook) -> None:
        place = self._place
        if inspect.iscoroutinefunction(hook):
            await (hook() if place is None or not place.takes_coroutines else place.run(hook))
        elif place is not None:
            await place.call(hook)
        else:
            await self._on_thread(hook)

    async def find(self, reference: str | None) -> Hook | None:
        """Run `import_hook` on a worker thread, since an import may block the loop."""
        return None if reference is None else await self._on_thread(lambda: import_hook(reference))

    async def _on_thread(self, hook: Hook) -> Any:
        """Run a plain function on a worker thread and return its value. A cancellation is raised
        only after the function has ended, so that nothing it uses is cleaned up before."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Ended] = loop.create_future()

        def work() -> None:
            try:
                ended = Ended(hook())
            except BaseException as error:
                ended = Ended(error=error if isinstance(error, Exception) else _as_exception(error))
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(done.set_result, ended)

        self._service.thread_pool.submit(work)
        if await end_of(done):
            raise asyncio.CancelledError
        return done.result().value()


def import_hook(reference: str) -> Hook:
    """Import the function that a bridge names as `module:function`.

    Raises:
        Refused: it cannot be imported in this process, or is not callable.
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


def _qualified_name(hook: Hook) -> str:
    module = getattr(hook, "__module__", None)
    name = getattr(hook, "__qualname__", repr(hook))
    return f"{module}:{name}" if module else name


def _as_exception(error: BaseException) -> Exception:
    """Wrap a BaseException such as SystemExit, which would end the loop."""
    return RuntimeError(repr(error))
