"""Serves a living process: on a socket in the file system, from a thread and a loop of its own.

The process goes on with whatever it does. Each bridge that connects is a client with a connection
and a session of its own; all of them are served on one loop. What a bridge says first, and what it
is answered, is told in `toolhaft_bridge.socket_directory`.
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
from .attached_client import converse
from .hooks import Hook, Hooks, Refused
from .inline_loop_many import ManyInlineSelector
from .passed_fds import PassedDescriptors
from .preamble import Preamble, check_user, first_line, tell_bridge, understood

log = logging.getLogger(__name__)

# How long whoever connects may take to say what it wants, and whoever makes a socket to be done.
_PATIENCE: Final = 10.0
_MOST_CLIENTS: Final = 1000
# After the system had nothing left to accept a client with.
_A_WHILE: Final = 0.5
_A_MOMENT: Final = 0.05
_SLACK: Final = 1.0


def unix_socket(path: str, name: str | None) -> UnixSocket:
    """A socket of ours. Two processes that come at the same time do not remove each other's.

    Raises:
        OSError: somebody else listens there.
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
    """The thread that serves, as the process knows it."""

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
        self._over = asyncio.Event()
        self._clients: dict[asyncio.Task[None], tuple[socket.socket, PassedDescriptors]] = {}
        # Those of whom only a stop function is left.
        self._leaving: set[asyncio.Task[Any]] = set()
        self._served = 0
        self._is_ending = False
        self._thread = threading.Thread(target=self._run, name="toolhaft-attached", daemon=True)
        # What a bridge can ask for, but for being served, which is more than one line.
        self._answers: dict[str, Callable[[], dict[str, Any]]] = {"info": self._info, **answers}
        _hosts.add(self)
        _watch_forks()

    def start(self) -> None:
        """Serve from now on."""
        self._thread.start()

    def end(self, *, wait: bool = True) -> None:
        """Let all clients go, and wait a moment for that. From any thread, also more than once."""
        if os.getpid() != self._process:
            return
        self._is_ending = True
        self._unix.remove()
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._over.set)
        if wait and threading.current_thread() is not self._thread:
            # For the calls of clients, and as long for what is to be done after them. All that
            # has a limit by itself; what is added is for a machine that has other things to do.
            self._thread.join(2 * self._service.limits.shutdown_seconds + _SLACK)
            if self._thread.is_alive():
                log_safely(log.warning, "detached, but the lifespan has not ended yet")

    @property
    def is_over(self) -> bool:
        """Is nobody served any more, but for calls that are about to end?"""
        return self._is_ending or not self._thread.is_alive()

    @property
    def clients(self) -> int:
        """How many are served."""
        return self._served

    # On the thread

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
            with contextlib.suppress(RuntimeError):  # what cannot be stopped still runs
                loop.close()
            _hosts.discard(self)

    async def _serve(self) -> None:
        lifespan = self._service.lifespan
        if lifespan is not None:
            lifespan.join()
        self._loop.add_reader(self._unix.socket, self._accept)
        try:
            await self._over.wait()
        finally:
            self._loop.remove_reader(self._unix.socket)
            self._unix.socket.close()
            seconds = self._service.limits.shutdown_seconds
            if self._clients:
                await asyncio.wait(list(self._clients), timeout=seconds)
            for task in self._clients.keys() - self._leaving:
                task.cancel()
            if self._clients:  # what is to be done after each takes a while, too
                await asyncio.wait(list(self._clients), timeout=seconds)
            if self._clients:
                log_safely(
                    log.warning, "detached, but a stop function has not ended within %g s", seconds
                )
                await self._cut_short()
            if lifespan is not None:
                await lifespan.leave()
            log_summary(self._service)

    async def _cut_short(self) -> None:
        """A stop function that is a coroutine hears that it is over. What goes on nevertheless is
        left behind with a word of ours, and needs none of asyncio's."""
        for task in list(self._clients):
            task.cancel()
        await asyncio.wait(list(self._clients), timeout=_A_MOMENT)
        for task in self._clients:
            task._log_destroy_pending = False  # type: ignore[attr-defined]

    def _accept(self) -> None:
        try:
            wire, _ = self._unix.socket.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:  # no descriptor is left
            log.error("a client cannot be accepted: %s", error.strerror)
            self._loop.remove_reader(self._unix.socket)
            self._loop.call_later(_A_WHILE, self._accept_again)
            return
        wire.setblocking(False)
        handed = PassedDescriptors()
        task = self._loop.create_task(self._meet(wire, handed))
        hide_task(task)
        self._clients[task] = wire, handed
        task.add_done_callback(self._forget)

    def _accept_again(self) -> None:
        if not self._over.is_set():
            self._loop.add_reader(self._unix.socket, self._accept)

    def _forget(self, task: "asyncio.Task[None]") -> None:
        wire, handed = self._clients.pop(task)
        self._leaving.discard(task)
        handed.close()
        wire.close()
        if not task.cancelled() and task.exception() is not None:
            log.error("a client was not served", exc_info=task.exception())

    async def _meet(self, wire: socket.socket, handed: PassedDescriptors) -> None:
        """Hear what somebody wants, and give it."""
        try:
            line, rest = await self._first_line(wire, handed)
            if line is None:
                return
            # Not before it has spoken: who is cut off while it does, does not hear why.
            check_user(wire)
            if len(self._clients) > _MOST_CLIENTS:
                raise Refused(f"it serves {_MOST_CLIENTS} clients already, and no more at once")
            wanted = understood(line)
            if wanted.ask == "serve":
                await self._check_lifespan()
                await self._serve_client(wire, handed, wanted, rest)
            elif wanted.ask in self._answers:
                await tell_bridge(self._loop, wire, self._answers[wanted.ask]())
            else:
                known = ", ".join(["serve", *self._answers])
                raise Refused(f"it can be asked for {known}, not for {clipped(wanted.ask)!r}")
        except Refused as error:
            await tell_bridge(self._loop, wire, {"error": str(error)})

    async def _check_lifespan(self) -> None:
        """Refuse clients of a service whose lifespan has failed: none of its calls could run."""
        entry = LifespanEntry(self._service.lifespan, failed=lambda: None)
        await entry.wait(self._over)
        entry.stop()
        if entry.error is not None:
            kind = type(entry.error).__name__
            raise Refused(f"its lifespan failed: {kind}; its own log says why")

    async def _first_line(
        self, wire: socket.socket, handed: PassedDescriptors
    ) -> tuple[bytes | None, bytes]:
        """What a client says first, and what came behind it; None if it has said nothing."""
        try:
            async with asyncio.timeout(_PATIENCE):
                return await first_line(self._loop, wire, handed)
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
            "clients": self._served,
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
            await tell_bridge(self._loop, wire, {"name": self._name, "pid": self._process, **taken})
            self._served += 1
            try:
                await converse(
                    self._service,
                    wire,
                    rest,
                    handed=handed,
                    loop=self._loop,
                    place=self._place,
                    ending=self._over,
                )
            finally:
                self._served -= 1
                if (task := asyncio.current_task()) is not None:
                    self._leaving.add(task)

    # Forks

    def disown(self) -> None:
        """In a process that was forked off: the socket and the clients are the parent's."""
        self._unix.socket.close()
        for wire, handed in self._clients.values():
            handed.disown()
            wire.close()
        if threading.current_thread().name.startswith("toolhaft-"):
            # It was a tool that forked. What it returns there is for nobody.
            private_fds.forked = True
        else:
            self._service.thread_pool.reset_after_fork()


_hosts: set[Host] = set()
# Those of the parent, kept so that nothing of theirs is cleaned up here.
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
