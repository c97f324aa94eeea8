"""Serves services over HTTP: on sockets, by a runner, in one process or in several."""

import asyncio
import contextlib
import importlib.util
import os
import socket
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final, Protocol, cast

import msgspec

from ..calls.loop_monitor import LoopMonitor
from ..calls.service import Service
from ..metrics import Metrics
from ..observe.prometheus import CONTENT_TYPE, exposition
from ..process import early_interrupt, private_fds
from ..process.loop_guard import run_until_done
from ..process.sockets import UnixSocket, listen
from ..process.stderr_log import drain, log_to_stderr
from ..protocol.http.rules import LOOPBACK, OriginPolicy
from ..protocol.limits import Limits
from ..protocol.ports import Bus, Store
from ..server.keywords import HttpTerms, RunnerName
from ..stores.memory import MemoryStore
from ..transports.http.app import App, Mounted
from ..transports.http.endpoint import Settings
from ..transports.http.servers.tls import Tls
from ..transports.http.servers.workers import Workers
from .addresses import Address, UnixPath

_A_MOMENT: Final = 0.2


class Offered(Service, Protocol):
    """A `Server`, as it is needed here."""

    @property
    def store(self) -> Store: ...
    @property
    def bus(self) -> Bus | None: ...
    @property
    def metrics(self) -> Metrics: ...
    @property
    def tools_with_session(self) -> list[str]: ...


class Runner(Protocol):
    """What serves an application on sockets."""

    async def run_on(self, sockets: list[socket.socket]) -> None: ...
    def stop(self, drain: float | None = None) -> None: ...


class Serving:
    """An application at an address."""

    def __init__(
        self,
        where: Address | UnixPath,
        *,
        runner: RunnerName,
        tls: tuple[str, str] | tuple[str, str, str] | None,
        metrics: bool = False,
    ) -> None:
        self._where = where
        self._runner_name = runner
        self._tls = None if tls is None else Tls(*tls)
        self._runner: Runner | None = None
        self._is_spokesman = False
        self._without_sessions: list[str] = []
        self._workers = 1
        # Does it take requests? And what waits until it does.
        self._is_begun = False
        # Has it ended, and not been started again?
        self._is_over = False
        self._waiters: list[asyncio.Future[None]] = []
        self.app = App(self._begin, self._expose if metrics else None)

    def mount(self, path: str, service: Offered, terms: HttpTerms) -> None:
        """Serve something at a path."""
        _offer(self.app, path, service, terms, self._own_hosts())

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        if isinstance(self._where, UnixPath):
            return str(self._where)
        return f"{'http' if self._tls is None else 'https'}://{self._where}"

    def run(self, workers: int) -> None:
        """Serve until a signal comes."""
        early_interrupt.install_handler()
        self._is_over = False
        self._check()
        self._check_workers(workers)
        self._workers = workers
        log_to_stderr()
        sockets, unix = self._listen()
        try:
            if workers == 1:
                self._work(sockets, workers, first=True)
            else:
                work = partial(self._work, sockets, workers)
                status = Workers(workers, lambda first: work(first=first)).run()
                if status:
                    sys.exit(status)
        finally:
            self._end()
            if unix is not None:
                unix.remove()
            drain.flush()

    async def serve(self) -> None:
        """Serve on this loop."""
        unix: UnixSocket | None = None
        self._is_over = False
        try:
            self._check()
            sockets, unix = self._listen()
            self._runner = self._make_runner()
            with LoopMonitor(self.app.drivers):
                await self._runner.run_on(sockets)
        finally:
            self._runner = None
            self._end()
            if unix is not None:
                unix.remove()

    def stop(self, *, now: bool) -> None:
        """End. From any thread."""
        if self._runner is not None:
            self._runner.stop(0 if now else None)

    def _listen(self) -> tuple[list[socket.socket], UnixSocket | None]:
        if isinstance(self._where, UnixPath):
            unix = UnixSocket(self._where.path)
            return [unix.socket], unix
        sockets = listen(self._where.host, self._where.port)
        self._where = self._where._replace(port=sockets[0].getsockname()[1])
        return sockets, None

    def _own_hosts(self) -> list[str]:
        if isinstance(self._where, UnixPath):  # whoever can open it is let in, by any name
            return ["*", *LOOPBACK]
        if self._where.is_everywhere:
            return list(LOOPBACK)
        host = self._where.host
        return [*LOOPBACK, f"[{host}]" if ":" in host else host]

    def _work(self, sockets: list[socket.socket], workers: int, *, first: bool) -> None:
        """Serve in this process."""
        self._is_spokesman = first
        private_fds.watch_forks()
        runner = self._runner = self._make_runner(patient=workers > 1)
        loop = _new_loop()
        asyncio.set_event_loop(loop)
        main = loop.create_task(self._run(runner, sockets))
        try:
            run_until_done(loop, main)
        finally:
            _cancel_all(loop)
            asyncio.set_event_loop(None)
            loop.close()

    async def _run(self, runner: Runner, sockets: list[socket.socket]) -> None:
        try:
            with LoopMonitor(self.app.drivers):
                await runner.run_on(sockets)
        finally:
            self._end()

    def _make_runner(self, *, patient: bool = False) -> Runner:
        limits = [mounted.service.limits for mounted in self.app.mounted] or [Limits()]
        drain_seconds = max(each.drain_seconds for each in limits)
        if self._runner_name == "granian":
            from ..transports.http.servers.granian_server import GranianServer  # noqa: PLC0415

            return GranianServer(self.app, drain=drain_seconds, tls=self._tls)
        from ..transports.http.servers.uvicorn_server import UvicornServer  # noqa: PLC0415

        return UvicornServer(
            self.app, limits=limits[0], drain=drain_seconds, tls=self._tls, patient=patient
        )

    def _check(self) -> None:
        """Say at once what is missing."""
        if importlib.util.find_spec(self._runner_name) is None:
            extra = "http" if self._runner_name == "uvicorn" else "granian"
            raise ModuleNotFoundError(
                f"serving over HTTP needs {self._runner_name}; install it with: "
                f'pip install "toolhaft[{extra}]"',
                name=self._runner_name,
            )
        if not self.app.mounted:
            raise ValueError("there is nothing to serve; mount a server at a path first")
        if self._tls is not None:
            self._tls.check()

    def _check_workers(self, workers: int) -> None:
        if type(workers) is not int or workers < 1:
            raise ValueError(f"workers={workers!r}: at least one must work")
        if workers == 1:
            return
        if not hasattr(os, "fork"):
            raise ValueError("this system cannot fork; run one worker, or several listeners")
        if self._runner_name == "granian":
            raise ValueError("several workers share a socket, which granian cannot; use uvicorn")
        for mounted in self.app.mounted:
            before, mounted.settings = mounted.settings, _for_workers(mounted)
            if mounted.settings is not before:
                self._without_sessions.append(mounted.service.name)

    def _expose(self, services: list[tuple[str, Service]]) -> tuple[bytes, str]:
        """The metrics of services, as Prometheus reads them. Each of several workers has counted
        what it has served, and says which one it is."""
        worker = {"worker": str(os.getpid())} if self._workers > 1 else {}
        pages = [cast(Offered, each).metrics.page(path=path, **worker) for path, each in services]
        return exposition(pages).encode(), CONTENT_TYPE

    async def begun(self) -> str:
        """Wait until it takes requests; where that is.

        Raises:
            RuntimeError: it has ended, before it took requests or after.
        """
        if self._is_over:
            # A task that was created just before, to serve again, has not started yet.
            await asyncio.sleep(0)
            if self._is_over:
                raise RuntimeError("the listener has ended; start serve() again to wait for it")
        if not self._is_begun:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        return self.url

    def _begin(self) -> None:
        self._is_begun = True
        self._say_where()
        self._tell(None)

    def _end(self) -> None:
        if not self._is_begun:
            self._tell(RuntimeError("the listener has ended before it served; see what it raised"))
        self._is_begun = False
        self._is_over = True

    def _tell(self, error: Exception | None) -> None:
        """Wake what waits for the beginning, on whichever loop."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            with contextlib.suppress(RuntimeError):  # its loop is closed
                waiter.get_loop().call_soon_threadsafe(_settle, waiter, error)

    def _say_where(self) -> None:
        if not self._is_spokesman:
            return
        for name in self._without_sessions:
            sys.stderr.write(
                f"toolhaft: {name}: several workers without a store to share keep no sessions, so "
                "clients that begin with `initialize` cannot be asked anything\n"
            )
        for path in self.app.paths:
            sys.stderr.write(f"toolhaft: serving at {self.url}{path} (Ctrl-C ends it)\n")
        where = self._where
        if isinstance(where, Address) and not where.is_loopback:
            sys.stderr.write(
                f"toolhaft: {where} can be reached from other machines; only clients that call it "
                f"{' or '.join(self._own_hosts())} are let in, or by a name in allow_hosts. "
                "That is no protection, for a caller chooses the name: use a guard\n"
            )
        sys.stderr.flush()


def _settle(waiter: "asyncio.Future[None]", error: Exception | None) -> None:
    if waiter.done():
        return
    if error is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(error)


def _for_workers(mounted: Mounted) -> Settings:
    """Sessions live in one process, unless they are kept where all can find them."""
    settings = mounted.settings
    if settings.sessions == "stateless" or not isinstance(mounted.store, MemoryStore):
        return settings
    if settings.sessions == "stateful":
        raise ValueError(
            f"{mounted.service.name}: sessions='stateful' with several workers needs a store that "
            "they can share; run one worker, or sessions='stateless'"
        )
    _check_sessions(
        cast(Offered, mounted.service),
        "and several workers keep none without a store that they can share; run one worker",
    )
    return msgspec.structs.replace(settings, sessions="stateless")


def _check_sessions(service: Offered, why: str) -> None:
    names = service.tools_with_session
    if names:
        tools = f"the tool {names[0]} needs" if len(names) == 1 else f"{', '.join(names)} need"
        raise ValueError(f"server {service.name!r}: {tools} a session, {why}")


def _offer(
    app: App, path: str, service: Offered, terms: HttpTerms, own_hosts: Sequence[str]
) -> None:
    """Put a service into an application.

    Raises:
        ValueError: it cannot be offered there, or on these terms.
    """
    if terms.sessions == "stateless":
        _check_sessions(service, "and sessions='stateless' keeps none; use 'stateful'")
    doors = OriginPolicy([*terms.allow_hosts, *own_hosts], terms.allow_origins)
    settings = Settings(
        doors=doors, sessions=terms.sessions, guard=terms.guard, pairs=terms.legacy_sse
    )
    app.mount(path, Mounted(service, settings, store=service.store, bus=service.bus))


def application(path: str, service: Offered, terms: HttpTerms) -> App:
    """One service as an application."""
    app = App()
    _offer(app, path, service, terms, LOOPBACK)
    return app


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    """What is left behind when the service has ended."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=_A_MOMENT))


def _new_loop() -> asyncio.AbstractEventLoop:
    """The fastest there is."""
    if importlib.util.find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    import uvloop  # noqa: PLC0415

    return uvloop.new_event_loop()
