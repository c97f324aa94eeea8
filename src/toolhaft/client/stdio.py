"""A server in a process that we start: one message per line on its stdin and stdout."""

import asyncio
import contextlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .failures import ServerGone
from .transport import Hear, Lines, Lost, OneStream

# What is kept of stderr: its end.
_KEPT = 64 * 1024
_SECONDS_TO_LEAVE = 5.0
_SECONDS_TO_DRAIN = 0.2
# The commands of whoever runs us, also where they are not on the path.
_OWN = {"python": [sys.executable], "toolhaft": [sys.executable, "-m", "toolhaft"]}


def argv(command: str | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The words of a command."""
    words = shlex.split(command) if isinstance(command, str) else [os.fspath(w) for w in command]
    if not words:
        raise ValueError("there is no command to start a server with")
    return [*_OWN.get(words[0], words[:1]), *words[1:]]


class Child(OneStream):
    """A process, from its start to its end."""

    def __init__(
        self,
        command: str | Sequence[str | os.PathLike[str]],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> None:
        self._argv = argv(command)
        self._env = None if env is None else {**os.environ, **env}
        self._cwd = cwd
        self._pipes: _Pipes | None = None
        self._process: asyncio.SubprocessTransport | None = None

    @property
    def said(self) -> str:
        return "" if self._pipes is None else self._pipes.stderr.decode("utf-8", "replace")

    @property
    def status(self) -> int | None:
        """With which it has ended, if it has."""
        return None if self._pipes is None else self._pipes.status

    async def open(self, hear: Hear, lost: Lost) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._process, self._pipes = await loop.subprocess_exec(
                lambda: _Pipes(hear, lost, shlex.join(self._argv)),
                *self._argv,
                env=self._env,
                cwd=self._cwd,
            )
        except OSError as error:
            hint = f"; try: toolhaft run {self._argv[0]}" if self._argv[0].endswith(".py") else ""
            words = f"{shlex.join(self._argv)} cannot be started: {error}{hint}"
            raise ServerGone(words) from error

    async def send(self, frame: bytes, message: Any) -> None:
        assert self._process is not None, "it is opened first"
        stdin: Any = self._process.get_pipe_transport(0)
        if not stdin.is_closing():
            stdin.write(frame + b"\n")

    def leave(self) -> None:
        """Close its stdin, which is how a server is asked to end."""
        if self._process is not None:
            stdin: Any = self._process.get_pipe_transport(0)
            stdin.close()

    async def close(self) -> None:
        """Ask it to end; then less politely."""
        process, pipes = self._process, self._pipes
        if process is None or pipes is None:
            return
        self.leave()
        for end in (None, process.terminate, process.kill):
            if end is not None:
                with contextlib.suppress(ProcessLookupError):
                    end()
            await asyncio.wait({pipes.exited}, timeout=_SECONDS_TO_LEAVE)
            if pipes.exited.done():
                break
        # What it wrote last is read, unless a child of its own holds the pipe.
        await asyncio.wait({pipes.drained}, timeout=_SECONDS_TO_DRAIN)
        process.close()
        await asyncio.sleep(0)  # for the transports of the pipes to be closed


class _Pipes(asyncio.SubprocessProtocol):
    """What a process writes."""

    def __init__(self, hear: Hear, lost: Lost, name: str) -> None:
        self._lines = Lines(hear)
        self._lost = lost
        self._name = name
        self._open = {1, 2}
        self.status: int | None = None
        self.stderr = bytearray()
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._process: Any = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.stderr += data
            del self.stderr[:-_KEPT]
            return
        self._lines.feed(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if fd == 1:
            self._lines.end()
        self._look()

    def process_exited(self) -> None:
        self.status = self._process.get_returncode()
        if not self.exited.done():
            self.exited.set_result(None)
        self._look()
        # A child of its own may hold the pipes for as long as it likes.
        asyncio.get_running_loop().call_later(_SECONDS_TO_DRAIN, self._give_up)

    def _give_up(self) -> None:
        self._open.clear()
        self._look()

    def _look(self) -> None:
        """When it has ended and everything is read, nobody needs to wait any longer."""
        if self._open or self.drained.done():
            return
        if self.status is not None:
            self.drained.set_result(None)
            said = self.stderr.decode("utf-8", "replace").strip()
            told = f"; on stderr:\n{said}" if said else ", and said nothing on stderr"
            self._lost(None, ServerGone(f"{self._name} ended with exit status {self.status}{told}"))
