"""The server side of attach: a Unix socket, served by a thread with its own event loop.

The other threads of the process are not affected. Each bridge that connects is a client with its
own connection and session; all are served on one loop. The preamble of a bridge and the answer to
it are specified in `toolhaft_bridge.socket_directory`.
"""

import asyncio
import contextlib
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...calls.service import Service, log_summary
from ...errors import clipped
from ...process import private_fds
from ...process.inline_loop import Loop
from ...process.loop_guard import hide_task, run_until_done
from ...process.safe_logging import log_safely
from ...process.sockets import AddressInUse, UnixSocket, locked
from ...protocol.ports import Place
from ..startup import LifespanEntry
from .attached_client import serve_client
from .hooks import Hook, Hooks, Refused
from .inline_loop_many import ManyInlineSelector
from .passed_fds import PassedDescriptors
from .preamble import Preamble, answer_bridge, check_user, parse_preamble, read_first_line

log = logging.getLogger(__name__)

# Seconds for a preamble to arrive, and for the lock that is held while a socket is created.
_PATIENCE: Final = 10.0
# Clients at the same time.
_MOST_CLIENTS: Final = 1000
# Seconds until `accept` is tried again after it failed, such as for lack of descriptors.
_ACCEPT_RETRY_SECONDS: Final = 0.5
# Seconds for cancelled stop functions to end.
_CANCEL_SECONDS: Final = 0.05
# Seconds that joining the thread may take beyond the limits, for a busy machine.
_JOIN_SLACK_SECONDS: Final = 1.0


def unix_socket(path: str, name: str | None) -> UnixSocket:
    """Create a listening socket, under a lock, so that no process removes the socket of another.

    Raises:
        OSError: another process listens there.
    """
    try:
        with locked(path, _PATIENCE):
            return UnixSocket(path)
    except AddressInUse:
        if name is None:
            raise
        raise OSError(
            f"a process is attached as {name!r} already; detach it, or attach this one by another "
            f"name, such as name='{name}-{{pid}}', which has the id of the process in it"
        ) from None


class Host:
    """The thread that serves attached clients, with its socket and its loop."""

    def __init__(
        self,
        service: Service,
        unix: UnixSocket,
        *,
        name: str | None,
        init: Hook | None,
        stop: Hook | None,
        place: Place | None,
        answers: Mapping[str, Callable[[], dict[str, Any]]],
    ) -> None:
        self._service = service
        self._unix = unix
        self._name = name
        self._init, self._stop = init, stop
        self._place = place
        self._hooks = Hooks(service, place)
        self._since = time.time()
        self._process = os.getpid()
        self._loop = Loop(ManyInlineSelector())
        self._shutdown = asyncio.Event()
        self._clients: dict[asyncio.Task[None], tuple[socket.socket, PassedDescriptors]] = {}
        # Tasks of clients that are gone, in which only stop functions are left to run.
        self._stopping: set[asyncio.Task[Any]] = set()
        self._client_count = 0
        self._is_ending = False
        self._thread = threading.Thread(target=self._run, name="toolhaft-attached", daemon=True)
        # Requests of a bridge that are answered by one line: all but `serve`.
        self._answers: dict[str, Callable[[], dict[str, Any]]] = {"info": self._info, **answers}
        _hosts.add(self)
        _watch_forks()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self, *, wait: bool = True) -> None:
        """Disconnect all clients and end the thread. From any thread, also more than once.

        Args:
            wait: join the thread, for a limited time.
        """
        if os.getpid() != self._process:
            return
        self._is_ending = True
        self._unix.remove()
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._shutdown.set)
        if wait and threading.current_thread() is not self._thread:
            # `_serve` waits up to this limit for calls, and again for stop functions.
            self._thread.join(2 * self._service.limits.shutdown_seconds + _JOIN_SLACK_SECONDS)
            if self._thread.is_alive():
                log_safely(log.warning, "detached, but the lifespan has not ended yet")

    @property
    def is_over(self) -> bool:
        """Whether no new client is accepted: `end` was called, or the thread has ended."""
        return self._is_ending or not self._thread.is_alive()

    @property
    def clients(self) -> int:
        """Number of clients that are being served."""
        return self._client_count

    # On the host's thread

    def _run(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        main = loop.create_task(self._serve())
        try:
            run_until_done(loop, main)
        except BaseException as error:
            log.error("clients of %s are served no more", self._service.name, exc_info=error)
        finally:
            self._unix.remove()
            self._unix.socket.close()
            for wire, handed in self._clients.values():
                handed.close()
                wire.close()
            with contextlib.suppress(RuntimeError):  # the loop is still running
                loop.close()
            _hosts.discard(self)

    async def _serve(self) -> None:
        lifespan = self._service.lifespan
        if lifespan is not None:
            lifespan.join()
        self._loop.add_reader(self._unix.socket, self._accept)
        try:
            await self._shutdown.wait()
        finally:
            self._loop.remove_reader(self._unix.socket)
            self._unix.socket.close()
            seconds = self._service.limits.shutdown_seconds
            if self._clients:
                await asyncio.wait(list(self._clients), timeout=seconds)
            for task in self._clients.keys() - self._stopping:
                task.cancel()
            if self._clients:  # the stop functions take time, too
                await asyncio.wait(list(self._clients), timeout=seconds)
            if self._clients:
                log_safely(
                    log.warning, "detached, but a stop function has not ended within %g s", seconds
                )
                await self._cancel_stop_functions()
            if lifespan is not None:
                await lifespan.leave()
            log_summary(self._service)

    async def _cancel_stop_functions(self) -> None:
        """Cancel stop functions that are coroutines. Others keep running; a warning was logged, so
        asyncio's own «Task was destroyed but it is pending» is turned off."""
        for task in list(self._clients):
            task.cancel()
        await asyncio.wait(list(self._clients), timeout=_CANCEL_SECONDS)
        for task in self._clients:
            task._log_destroy_pending = False  # type: ignore[attr-defined]

    def _accept(self) -> None:
        try:
            wire, _ = self._unix.socket.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:  # such as EMFILE
            log.error("a client cannot be accepted: %s", error.strerror)
            self._loop.remove_reader(self._unix.socket)
            self._loop.call_later(_ACCEPT_RETRY_SECONDS, self._accept_again)
            return
        wire.setblocking(False)
        handed = PassedDescriptors()
        task = self._loop.create_task(self._handle_client(wire, handed))
        hide_task(task)
        self._clients[task] = wire, handed
        task.add_done_callback(self._forget)

    def _accept_again(self) -> None:
        if not self._shutdown.is_set():
            self._loop.add_reader(self._unix.socket, self._accept)

    def _forget(self, task: "asyncio.Task[None]") -> None:
        wire, handed = self._clients.pop(task)
        self._stopping.discard(task)
        handed.close()
        wire.close()
        if not task.cancelled() and task.exception() is not None:
            log.error("a client was not served", exc_info=task.exception())

    async def _handle_client(self, wire: socket.socket, handed: PassedDescriptors) -> None:
        """Read the preamble of a bridge and do what it requests."""
        try:
            line, rest = await self._first_line(wire, handed)
            if line is None:
                return
            # Only now: closing while the peer still writes would keep it from reading the reason.
            check_user(wire)
            if len(self._clients) > _MOST_CLIENTS:
                raise Refused(f"it serves {_MOST_CLIENTS} clients already, and no more at once")
            wanted = parse_preamble(line)
            if wanted.ask == "serve":
                await self._check_lifespan()
                await self._serve_client(wire, handed, wanted, rest)
            elif wanted.ask in self._answers:
                await answer_bridge(self._loop, wire, self._answers[wanted.ask]())
            else:
                known = ", ".join(["serve", *self._answers])
                raise Refused(f"it can be asked for {known}, not for {clipped(wanted.ask)!r}")
        except Refused as error:
            await answer_bridge(self._loop, wire, {"error": str(error)})

    async def _check_lifespan(self) -> None:
        """Wait for the lifespan, and refuse the client if it failed: no call could run."""
        entry = LifespanEntry(self._service.lifespan, failed=lambda: None)
        await entry.wait(self._shutdown)
        entry.stop()
        if entry.error is not None:
            kind = type(entry.error).__name__
            raise Refused(f"its lifespan failed: {kind}; its own log says why")

    async def _first_line(
        self, wire: socket.socket, handed: PassedDescriptors
    ) -> tuple[bytes | None, bytes]:
        """Read the preamble and the bytes after it; None if there is none in time."""
        try:
            async with asyncio.timeout(_PATIENCE):
                return await read_first_line(self._loop, wire, handed)
        except TimeoutError:
            log.warning("a client connected and asked for nothing within %g s", _PATIENCE)
        except OSError as error:
            log.debug("a client has gone: %s", error)
        return None, b""

    def _info(self) -> dict[str, Any]:
        info = self._service.info
        return {
            "name": self._name,
            "pid": self._process,
            "server": info.name,
            "version": info.version,
            "since": self._since,
            "clients": self._client_count,
            "program": sys.argv[0] if sys.argv else "",
        }

    async def _serve_client(
        self, wire: socket.socket, handed: PassedDescriptors, wanted: Preamble, rest: bytes
    ) -> None:
        around, find = self._hooks.around, self._hooks.find
        async with (
            around(self._init, self._stop),
            around(await find(wanted.init), await find(wanted.stop)),
        ):
            taken = {"taken": True} if not rest and handed.take() else {}
            members = {"name": self._name, "pid": self._process, **taken}
            await answer_bridge(self._loop, wire, members)
            self._client_count += 1
            try:
                await serve_client(
                    self._service,
                    wire,
                    rest,
                    handed=handed,
                    loop=self._loop,
                    place=self._place,
                    shutdown=self._shutdown,
                )
            finally:
                self._client_count -= 1
                if (task := asyncio.current_task()) is not None:
                    self._stopping.add(task)

    # Forks

    def disown(self) -> None:
        """In a forked child: close the copies of sockets, which stay the parent's."""
        self._unix.socket.close()
        for wire, handed in self._clients.values():
            handed.disown()
            wire.close()
        if threading.current_thread().name.startswith("toolhaft-"):
            # A tool forked, on a thread of this library. Its result in the child is not sent.
            private_fds.forked = True
        else:
            self._service.thread_pool.reset_after_fork()


_hosts: set[Host] = set()
# In a forked child: the parent's hosts, referenced so that they are not garbage collected here.
_disowned: list[Host] = []
_watched = False


def _watch_forks() -> None:
    global _watched
    if not _watched:
        _watched = True
        os.register_at_fork(after_in_child=_disown_all)


def _disown_all() -> None:
    for host in list(_hosts):
        host.disown()
        _disowned.append(host)
    _hosts.clear()
