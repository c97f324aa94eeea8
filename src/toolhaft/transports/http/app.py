"""An ASGI application: services at their paths, and whether they are well.

It can be run by a server of its own or be mounted in somebody else's application. It needs no
lifespan events of its host: what was not begun by them is begun with the first request.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from time import perf_counter
from typing import Final

from ...calls.call import call_label
from ...calls.driver import Driver
from ...calls.service import Service, log_summary
from ...errors import clipped
from ...process.loop_guard import hide_task
from ...protocol.calls import READY
from ...protocol.http.headers import Head
from ...protocol.http.rules import refused, too_much
from ...protocol.ports import Bus, Store
from .client_timeouts import Patience
from .endpoint import PAIR, PAIR_SCOPE, STARTED_CALL, Endpoint, Settings
from .logged_endpoint import LoggedEndpoint
from .metrics_page import PATH as METRICS
from .metrics_page import Expose, scrape
from .response import ClientIsGone, Receive, Response, Scope, Send

log = logging.getLogger(__name__)

_HEALTH: Final = {"/healthz", "/readyz"}
# How long whoever asks for anything but a service may take to read what it is told.
_PATIENCE: Final = 30.0


class Mounted:
    """A service at a path."""

    __slots__ = ("_bus", "endpoint", "service", "settings", "store")

    def __init__(
        self, service: Service, settings: Settings, *, store: Store, bus: Bus | None = None
    ) -> None:
        self.service = service
        self.settings = settings
        self.store = store
        self._bus = bus
        # If there was use for one.
        self.endpoint: Endpoint | None = None

    def here(self) -> Endpoint:
        """The endpoint on this loop."""
        endpoint = self.endpoint
        if endpoint is None or endpoint.task_here() is None:
            if endpoint is not None:
                endpoint.forget()
            make: Callable[..., Endpoint] = Endpoint
            if self.service.traffic is not None:
                make = partial(LoggedEndpoint, traffic=self.service.traffic)
            self.endpoint = endpoint = make(
                self.service, self.settings, store=self.store, bus=self._bus
            )
        return endpoint

    def at_hand(self, loop: asyncio.AbstractEventLoop) -> Endpoint | None:
        """The endpoint, if it is on this loop already."""
        endpoint = self.endpoint
        return endpoint if endpoint is not None and endpoint.loop is loop else None

    async def close(self) -> None:
        """End it; the next request begins it anew."""
        endpoint, self.endpoint = self.endpoint, None
        if endpoint is not None:
            await endpoint.close()
            log_summary(self.service)


class App:
    """Services at their paths."""

    def __init__(
        self, started: Callable[[], None] | None = None, expose: Expose | None = None
    ) -> None:
        self._mounted: dict[str, Mounted] = {}
        # Told when every lifespan was entered.
        self._started = started
        # Writes down metrics, if there is a place for them.
        self._expose = expose
        self._ending = False
        self._interrupted: asyncio.Event | None = None
        # What was unmounted and has not ended yet.
        self._closing: set[asyncio.Task[None]] = set()

    def mount(self, path: str, mounted: Mounted) -> None:
        """Serve at a path.

        Raises:
            ValueError: it is not a path, or is taken.
        """
        if not path.startswith("/") or "?" in path:
            raise ValueError(f"{path!r} is no path; it begins with '/', as in '/mcp'")
        key = _plain(path)
        if key in _HEALTH:
            raise ValueError(f"{key} tells whether we are well; take another path")
        if key == METRICS and self._expose is not None:
            raise ValueError(f"{key} has the metrics; take another path")
        if key in self._mounted:
            raise ValueError(f"there is a service at {path} already")
        self._mounted[key] = mounted

    def unmount(self, path: str) -> Awaitable[None]:
        """Serve no more at a path, from now on. Its calls get a moment to finish, for which the
        result can be awaited. From any thread."""
        mounted = self._mounted.pop(_plain(path), None)
        endpoint = None if mounted is None else mounted.endpoint
        if mounted is None or endpoint is None or endpoint.loop.is_closed():
            return READY
        here = asyncio._get_running_loop()
        if here is not None and here is endpoint.loop:
            task = here.create_task(mounted.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
            return asyncio.shield(task)
        there = asyncio.run_coroutine_threadsafe(mounted.close(), endpoint.loop)
        return READY if here is None else asyncio.wrap_future(there, loop=here)

    @property
    def mounted(self) -> list[Mounted]:
        """What is served."""
        return list(self._mounted.values())

    @property
    def paths(self) -> list[str]:
        """Where there is a service."""
        return [path or "/" for path in self._mounted]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or begin and end."""
        if STARTED_CALL in scope:  # whatever is mounted by now
            endpoint, call = scope[STARTED_CALL]
            await endpoint(scope, receive, send, begun=call)
        elif scope["type"] == "http":
            mounted = self._mounted.get(scope["path"]) or self._find(scope)
            if mounted is not None:
                endpoint = mounted.endpoint
                task = None if endpoint is None else endpoint.task_here()
                if endpoint is None or task is None:
                    await mounted.here()(scope, receive, send)
                else:
                    await endpoint.serve(task, scope, receive, send)
            else:
                with contextlib.suppress(ClientIsGone):
                    await self._other(scope, send)
        elif scope["type"] == "lifespan":
            task = asyncio.current_task()
            assert task is not None, "a server begins in a task"
            hide_task(task)
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})

    def at_hand(self, url: bytes, loop: asyncio.AbstractEventLoop) -> Endpoint | None:
        """Who serves what is posted to just this URL, if it has begun to on this loop."""
        mounted = self._mounted.get(url.decode("latin-1").rstrip("/"))
        return None if mounted is None else mounted.at_hand(loop)

    def _find(self, scope: Scope) -> Mounted | None:
        """By the rest of the path, if we are mounted somewhere; and with a slash too many. An
        application that has just one service, mounted where that should be, is meant as it is."""
        root, path = scope.get("root_path", ""), scope["path"]
        rest = _plain(path[len(root) :] if root and path.startswith(root) else path)
        found = self._mounted.get(rest)
        if found is None and rest.endswith(PAIR):
            found = self._mounted.get(rest.removesuffix(PAIR))
            if found is None or not found.settings.pairs:
                return None
            scope[PAIR_SCOPE] = True
            return found
        if found is None and root and not rest and len(self._mounted) == 1:
            return next(iter(self._mounted.values()))
        return found

    async def _other(self, scope: Scope, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None, "a request is served in a task"
        response = Response(send, Patience(task.get_loop(), _PATIENCE), task)
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        head = Head(scope["headers"])
        refusal = too_much(head)
        if refusal is not None:
            await response.refuse(refusal)
        elif path == METRICS and self._expose is not None:
            await self._metrics(self._expose, scope["method"], head, response)
        elif path not in _HEALTH:
            known = " or ".join(self.paths) or "nowhere"
            await response.refuse(refused(404, f"nothing is served here, but at {known}"))
        elif path == "/healthz" or self._is_ready():
            await response.json(200, b'{"status":"ok"}')
        else:
            await response.json(503, b'{"status":"not ready"}')

    async def _metrics(self, expose: Expose, verb: str, head: Head, response: Response) -> None:
        try:
            await scrape(expose, self._mounted, verb, head, response)
        except ClientIsGone:
            raise
        except Exception as error:  # of a guard: the request is refused
            log.error("metrics could not be shown", exc_info=error)
            await response.refuse(refused(500, "the metrics cannot be shown; see the log"))

    def _is_ready(self) -> bool:
        if not self._ending:
            for mounted in self._mounted.values():
                mounted.here()  # somebody who asks first makes a beginning
        lifespans = [mounted.service.lifespan for mounted in self._mounted.values()]
        return not self._ending and all(each is None or each.entered for each in lifespans)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        self._ending = False
        self._interrupted = asyncio.Event()
        for mounted in self._mounted.values():
            mounted.here()
        interrupted = asyncio.ensure_future(self._interrupted.wait())
        entered = asyncio.ensure_future(self._entered())
        await asyncio.wait([interrupted, entered], return_when=asyncio.FIRST_COMPLETED)
        interrupted.cancel()
        if not entered.cancel() and (failed := entered.result()) is not None:
            await self.close()
            await send({"type": "lifespan.startup.failed", "message": failed})
            return
        await send({"type": "lifespan.startup.complete"})
        if self._started is not None and not self._ending:
            self._started()
        await receive()
        await self.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _entered(self) -> str | None:
        """Wait until all lifespans are entered, or say which could not be."""
        for mounted in self._mounted.values():
            lifespan = mounted.service.lifespan
            if lifespan is not None:
                try:
                    await lifespan.wait()
                except Exception as error:  # it is in the log
                    return f"the lifespan of {mounted.service.name} failed: {error!r}"
        return None

    @contextlib.asynccontextmanager
    async def lifespan(self, host: object = None) -> AsyncGenerator[None]:
        """For a host that passes on no lifespan events: `Starlette(lifespan=app.lifespan)`."""
        self._ending = False
        for mounted in self._mounted.values():
            mounted.here()
        try:
            failed = await self._entered()
            if failed is not None:
                raise RuntimeError(failed)
            yield
        finally:
            await self.close()

    @property
    def _endpoints(self) -> list[Endpoint]:
        """Of the services for which there was use so far."""
        found = [mounted.endpoint for mounted in self.mounted]
        return [endpoint for endpoint in found if endpoint is not None]

    def end_streams(self) -> None:
        """Let everybody go who only listens, and take in nobody else."""
        self._ending = True
        if self._interrupted is not None:
            self._interrupted.set()
        for endpoint in self._endpoints:
            endpoint.end_streams()

    def drivers(self) -> list[Driver]:
        """What runs the calls of all services."""
        return [endpoint.driver for endpoint in self._endpoints]

    @property
    def busy(self) -> bool:
        """Does anybody wait for an answer?"""
        return any(endpoint.busy for endpoint in self._endpoints)

    def under_way(self) -> str:
        """The calls for which there is no answer yet, and since when they run."""
        drivers = [driver for endpoint in self._endpoints for driver in endpoint.drivers]
        calls = [call for driver in drivers for call in list(driver.calls.values())]
        now = perf_counter()
        return clipped(
            ", ".join(f"{call_label(call)} for {now - call.began:.1f} s" for call in calls)
        )

    def hurry(self) -> None:
        """Let go of everybody who neither sends nor reads."""
        for endpoint in self._endpoints:
            endpoint.hurry()

    def abandon(self) -> None:
        """Tell everybody whose call is still under way that there will be no result."""
        for endpoint in self._endpoints:
            endpoint.abandon()

    async def close(self) -> None:
        """End every service."""
        self._ending = True
        if self._closing:
            await asyncio.wait(self._closing)
        for mounted in self._mounted.values():
            await mounted.close()


def _plain(path: str) -> str:
    return path.rstrip("/")
