"""One visit to a server: reach it, talk, leave. How that ends is an exit status.

The author's code may print; only what is written through a `Visit` reaches stdout.
"""

import argparse
import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TypeAlias

from toolhaft_bridge.display import block
from toolhaft_bridge.outputs import replace
from toolhaft_bridge.socket_directory import NotAttached

from ...client.failures import BadAnswer, Refused, ServerGone
from ...errors import McpError
from ...process import private_fds
from ...process.stderr_log import drain, log_to_stderr
from ..target import BadTarget
from . import console
from .arguments import BadArgument
from .conversation import Conversation, conversation
from .output_files import cannot_write
from .question_prompts import Answers, CannotAnswer, hint
from .rendering import notice
from .server_location import Place, place_of, told
from .terminal import terminal_at

WRONG_COMMAND = 2
REFUSED = 4
TOOL_FAILED = 5
_NOBODY_READS = 128 + 13  # SIGPIPE, which not every system has


class Visit:
    """What a command may do: ask the server, read stdin, write stdout."""

    def __init__(
        self, talk: Conversation, wires: private_fds.Descriptors, *, is_http: bool, raw: bool
    ) -> None:
        self.talk = talk
        self.is_http = is_http
        self._wires = wires
        self._raw = raw

    @property
    def for_people(self) -> bool:
        """Is stdout a terminal, and was its content not asked for as it is?"""
        return not self._raw and os.isatty(self._wires.output)

    def stdin(self) -> bytes:
        """All of the real stdin."""
        with open(self._wires.input, "rb", closefd=False) as file:
            return file.read()

    def write(self, data: str | bytes, path: str | None = None) -> None:
        """Write to a file or, without one, to the real stdout: text as it is, but to a terminal
        without what that would obey, unless that is asked for.

        Raises:
            BadArgument: the file cannot be written.
        """
        if isinstance(data, str):
            if path is None and self.for_people:
                data = block(data)
            data = data.encode("utf-8", "backslashreplace")
        if path is not None:
            try:
                replace(path, data)
            except OSError as error:
                raise BadArgument(cannot_write(path, error)) from None
            return
        with open(self._wires.output, "wb", closefd=False) as file:
            file.write(data)


Talk: TypeAlias = Callable[[Visit, argparse.Namespace], Awaitable[int]]


def conduct(options: argparse.Namespace, talk: Talk) -> int:
    """Reach the server and talk to it; the result is the exit status."""
    # Before any code of the author's runs: what it prints must not mix with the answer.
    try:
        wires = private_fds.take()
        if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison]
            sys.stdout = sys.stderr
        place = place_of(options)
    except (BadTarget, OSError) as error:
        return failed(WRONG_COMMAND, str(error))
    log_to_stderr()
    loop = asyncio.new_event_loop()
    task = loop.create_task(_talk(place, wires, options, talk))
    interruption = _Interruption(loop, task, place.grace)
    try:
        return loop.run_until_complete(task)
    except asyncio.CancelledError:
        if interruption.status:
            return interruption.status
        return failed(REFUSED, "a tool has cancelled every task, this one too")
    finally:
        drain.flush()
        loop.close()


def failed(status: int, message: str) -> int:
    """Say why; the result is the status."""
    complain(f"toolhaft: {message}\n")
    return status


def complain(text: str) -> None:
    """Write to stderr, after everything that was logged before."""
    drain.flush()
    console.complain(text, end="")


async def _talk(
    place: Place, wires: private_fds.Descriptors, options: argparse.Namespace, talk: Talk
) -> int:
    seconds: float | None = options.timeout
    late = f"no answer within {seconds or 0:g} seconds; the request was cancelled"
    watchdog = _Watchdog(place.grace, REFUSED, late)
    if seconds is not None:
        watchdog.start(after=seconds)
    try:
        async with asyncio.timeout(seconds) as limit:
            answers = Answers(options.answer, terminal_at(wires.input))
            asking = conversation(place.transport, options.revision, _hear, answers)
            async with asking as asked:
                visit = Visit(asked, wires, is_http=place.is_http, raw=options.raw)
                status = await talk(visit, options)
                for name in answers.unused():
                    complain(f"note: no question has used --answer {name}\n")
                # Leaving is not part of the answer.
                limit.reschedule(None)
                watchdog.stop()
        return status
    except BrokenPipeError:
        return _NOBODY_READS
    except TimeoutError:
        return failed(REFUSED, late)
    except (McpError, ServerGone, BadAnswer, CannotAnswer) as error:
        return failed(REFUSED, _why(error, options))
    except (BadArgument, NotAttached, OSError) as error:
        return failed(WRONG_COMMAND, str(error))


def _why(error: Exception, options: argparse.Namespace) -> str:
    """What the server says, and what may help."""
    if isinstance(error, Refused):
        return told(error, options)
    if isinstance(error, McpError):
        return error.message + hint(error)
    return f"{error}; is this a server of MCP?" if isinstance(error, BadAnswer) else str(error)


def _hear(method: str, params: dict[str, object]) -> None:
    told = notice(method, params)
    if told is not None:
        console.complain(told)


class _Watchdog:
    """Ends the process if nothing else does: a tool may hold up the loop, or not let go."""

    def __init__(self, grace: float, status: int, message: str | None = None) -> None:
        self._grace = grace
        self._status = status
        self._message = message
        self._timer: threading.Timer | None = None

    def start(self, *, after: float = 0) -> None:
        """Wait for so long, and a moment more, in which all should be over."""
        self._timer = threading.Timer(after + self._grace, self._end)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """It is over."""
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        if self._message is not None:
            failed(self._status, self._message)
        os._exit(self._status)


class _Interruption:
    """The first Ctrl-C or SIGTERM cancels the request, a second one ends the process."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, task: "asyncio.Task[int]", grace: float
    ) -> None:
        self.status = 0
        self._grace = grace
        for number in (signal.SIGINT, signal.SIGTERM):
            # The loop's own handler wakes it up; ours is called even while a tool holds it up.
            loop.add_signal_handler(number, task.cancel)
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.status:
            os._exit(self.status)
        self.status = 128 + number
        _Watchdog(self._grace, self.status).start()
