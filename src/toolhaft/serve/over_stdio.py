"""Ways to serve: over stdio, over a pair of streams, message by message."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar, cast

import msgspec

from ..calls.output import Sink
from ..calls.service import Service, connected, log_summary
from ..encoding.envelope import encode, is_notification, whole
from ..process import private_fds
from ..process.eager_tasks import OutsideTask
from ..process.inline_loop import InlineSelector, Loop
from ..process.loop_guard import run_until_done
from ..process.signals import Signals
from ..process.stderr_log import drain, log_to_stderr
from ..protocol.calls import READY
from ..protocol.framing import Framer
from ..protocol.handshake import Session
from ..protocol.ports import Reader, Writer
from ..transports.pipes import Input, Output
from ..transports.startup import LifespanEntry
from ..transports.stdio.watchdog import Watchdog
from .early_start import Begun

_CHUNK = 65536
_A_MOMENT = 0.05
# As over HTTP, where it is the one of uvicorn.
_LIFESPAN_FAILED = 3
_STDOUT_CLOSED = 1


async def serve_streams(service: Service, reader: Reader, writer: Writer) -> None:
    """Serve one client over asyncio streams, until it ends its side."""
    framer = Framer(service.limits.message_bytes)
    outlet = _StreamOutlet(writer, framer, service.limits.waiting_bytes)
    try:
        async with connected(service, outlet) as connection:
            try:
                data = b"-"
                while data:
                    try:
                        data = await reader.read(_CHUNK)
                    except OSError:
                        data = b""
                        outlet.give_up()
                    framer.feed(data)
                    while framer.frames:
                        connection.receive(framer.frames.popleft())
                    await outlet.drained()
            finally:
                outlet.end()
        await outlet.drained()
    finally:
        outlet.close()


class _StreamOutlet:
    """Sends by a stream, on the loop, until the client is gone. Coroutines wait whenever the stream
    asks them to; tool threads, while more has been sent than may wait since it last did not."""

    def __init__(self, writer: Writer, framer: Framer, high: int) -> None:
        self._writer = writer
        # Only some can tell.
        self._is_closing: Callable[[], bool] | None = getattr(writer, "is_closing", None)
        self._framer = framer
        self._high = high
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        # What waits for the client belongs to no call: none of its context variables are seen.
        self._context = copy_context()
        # Bytes that somebody wants to send; of these, what the stream was given, and how much that
        # was when it last let somebody wait until there was room.
        self._sent = 0
        self._written = 0
        self._taken = 0
        self._room = threading.Condition()
        self._waiter: asyncio.Task[None] | None = None
        self._is_gone = False
        self._holds_back = True

    def send(self, frame: bytes) -> None:
        """Send a frame; what is sent to nobody is dropped."""
        if self._is_gone:
            return
        data = self._framer.wrap((frame,))
        with self._room:
            self._sent += len(data)
        if threading.get_ident() == self._thread:
            self._write(data)
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._write, data, context=self._context)

    def send_pieces(self, pieces: tuple[bytes, ...]) -> None:
        """Send a long frame."""
        self.send(whole(pieces))

    @property
    def is_full(self) -> bool:
        """Does the client not read?"""
        return self._holds_back and self._sent - self._taken > self._high

    def throttle(self) -> None:
        """For tool threads, after they have sent: wait until there is room."""
        if self.is_full:
            with self._room:
                self._room.wait_for(lambda: not self.is_full)

    def drained(self) -> Awaitable[None]:
        """Wait until there is room; `READY` if nobody is there who would make any."""
        return READY if self._is_gone else self._drained()

    async def _drained(self) -> None:
        written = self._written
        try:
            await self._writer.drain()
        except OSError:
            self.give_up()
            return
        with self._room:
            self._taken = max(self._taken, written)
            self._room.notify_all()

    def _write(self, data: bytes) -> None:
        if self._is_closing is not None and self._is_closing():
            self.give_up()
        if self._is_gone:
            return
        self._written += len(data)
        try:
            self._writer.write(data)
        except OSError:
            self.give_up()
        # Long before it is full: while the client reads, nobody finds that it is.
        if self._waiter is None and self._written - self._taken > self._high // 4:
            self._waiter = self._loop.create_task(self._wait(), context=self._context)

    async def _wait(self) -> None:
        """Wait for the client, for the threads that cannot."""
        try:
            while not self._is_gone and self._written - self._taken > self._high // 4:
                await self._drained()
        except Exception:  # which whoever reads from the client gets, too
            self.give_up()
        finally:
            self._waiter = None

    def give_up(self) -> None:
        """The client is gone: send nothing more."""
        self._is_gone = True
        self.end()

    def end(self) -> None:
        """Hold nobody back any more."""
        with self._room:
            self._holds_back = False
            self._room.notify_all()

    def close(self) -> None:
        """Nobody sends any more."""
        self.give_up()
        if self._waiter is not None:
            self._waiter.cancel()


M = TypeVar("M", bytes, str, dict[str, Any])


async def handle_message(service: Service, message: M, session: Session) -> M | None:
    """Answer one message, in kind."""
    session.reachable = False  # for there is one answer, and nothing before it
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bytes | None] = loop.create_future()

    def settle(frame: bytes | None) -> None:
        if not answer.done() and not (frame is not None and is_notification(frame)):
            answer.set_result(frame)

    def send(frame: bytes) -> None:
        loop.call_soon_threadsafe(settle, frame)

    async with connected(service, Sink(send), session=session) as connection:
        # A subscription is answered at once: there is no one to tell.
        connection.driver.closing.set()
        connection.unanswered = lambda: loop.call_soon_threadsafe(settle, None)
        connection.receive(_bytes(message))
        frame = await answer
    answer_in_kind: Any = frame
    if frame is not None and isinstance(message, str):
        answer_in_kind = frame.decode()
    elif frame is not None and isinstance(message, dict):
        answer_in_kind = msgspec.json.decode(frame)
    return cast(M | None, answer_in_kind)


def _bytes(message: bytes | str | dict[str, Any]) -> bytes:
    if isinstance(message, bytes):
        return message
    if isinstance(message, dict):
        try:
            return encode(message)
        except UnicodeEncodeError:
            message = _text(message)
    # A lone surrogate becomes bytes that are not UTF-8, which is what the client is told.
    return message.encode("utf-8", "surrogatepass")


def _text(message: dict[str, Any]) -> str:
    """The same for what is no UTF-8."""
    import json  # noqa: PLC0415 - hardly anybody needs it

    return json.dumps(msgspec.to_builtins(message), ensure_ascii=False)


def run_stdio(service: Service, begun: Begun, *, last: bool = False) -> None:
    """Serve one client over stdin and stdout, until it ends its side or a signal comes.

    Args:
        begun: what was said before.
        last: nothing follows in this process, so the watch may end it at the deadline.

    Raises:
        SystemExit: the lifespan could not be entered, or stdout was closed while stdin was not.
    """
    wires = private_fds.take()
    log_to_stderr()
    if os.isatty(wires.input):
        sys.stderr.write(
            f"toolhaft: {service.name} speaks MCP on stdin and stdout, one JSON message per line; "
            "Ctrl-D ends it\n"
        )
    loop = Loop()
    watch: list[Watchdog] = []
    main = loop.create_task(_serve_stdio(service, wires, begun, loop.inline_selector, watch))
    try:
        run_until_done(loop, main)
    finally:
        begun.signals.release()
        if not last:
            for each in watch:
                each.disarm()
        log_summary(service)
        drain.flush()
        loop.close()
    failure = main.result() if main.done() and not main.cancelled() else None
    if failure is not None:
        status, words = failure
        drain.put(f"toolhaft: {service.name} {words}\n")
        drain.flush()
        raise SystemExit(status)


async def _serve_stdio(
    service: Service,
    wires: private_fds.Descriptors,
    begun: Begun,
    selector: InlineSelector,
    watches: list[Watchdog],
) -> tuple[int, str] | None:
    """Serve to the end. If that is not the client's doing, the result is a status and the words
    for it."""
    loop = asyncio.get_running_loop()
    framer = begun.framer
    output = Output(wires.output, framer, service.limits.waiting_bytes)
    output.send_remainder(begun.left)
    over = asyncio.Event()
    closed: list[bool] = []

    def stop() -> None:
        for watch in watches:
            watch.set_deadline()
        loop.call_soon_threadsafe(over.set)

    with _woken_by_signals(loop, begun.signals):
        async with connected(
            service,
            output,
            session=begun.session,
        ) as connection:
            entry = LifespanEntry(service.lifespan, failed=over.set)
            seconds = service.limits.shutdown_seconds
            input_ = Input(
                wires.input, framer, output, connection, ended=over.set, stall_seconds=seconds
            )
            watch = Watchdog(connection, input_, output, stop=stop, seconds_to_end=seconds)
            watches.append(watch)
            watch.start()

            def look_at_input() -> None:
                if not input_.at_end and not over.is_set():
                    closed.append(True)
                    stop()

            # A client that leaves closes both; then this is no failure.
            output.on_broken = partial(_later, loop, look_at_input)
            begun.signals.stop_with(stop)
            if not entry.is_over:
                input_.start_if_held_up(selector)
                await entry.wait(over)
            if not over.is_set():
                input_.start(selector)
            if framer.frames and not over.is_set():
                # At once, as what is read by the loop: a lifespan that blocks holds up nobody.
                with OutsideTask(loop, cast("asyncio.Task[None]", asyncio.current_task())):
                    input_.serve()
            await over.wait()
            entry.stop()
            watch.set_deadline()
            output.end()
        # A client that still reads gets every answer, also of calls that ended during shutdown.
        watch.owe_all_output()
        while not output.empty and watch.seconds_left() > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(output.emptied(), _A_MOMENT)
    return _failure(entry.error, closed)


def _later(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
    loop.call_later(_A_MOMENT, work)


def _failure(error: Exception | None, closed: list[bool]) -> tuple[int, str] | None:
    if error is not None:
        words = f"does not serve, since its lifespan failed: {type(error).__name__}: {error}"
        return _LIFESPAN_FAILED, words
    if closed:
        return _STDOUT_CLOSED, "ends: stdout is closed, so that no answer can be sent"
    return None


@contextlib.contextmanager
def _woken_by_signals(loop: asyncio.AbstractEventLoop, signals: Signals) -> Generator[None]:
    """Their handler runs on this thread, which may be waiting while another one gets the signal."""
    if not signals.are_caught:
        yield
        return
    ear, mouth = os.pipe()
    os.set_blocking(ear, False)
    os.set_blocking(mouth, False)
    loop.add_reader(ear, os.read, ear, _CHUNK)
    woken_before = signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signals.release()
        signal.set_wakeup_fd(woken_before)
        loop.remove_reader(ear)
        os.close(ear)
        os.close(mouth)
