"""Ways to serve: over stdio, over a pair of streams, message by message."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Generator
from typing import Any, TypeVar, cast

import msgspec

from .beginning import Begun
from .envelope import encode, is_notification
from .protocol.framing import Framer
from .protocol.handshake import Session
from .protocol.ports import Reader, Writer
from .runtime import descriptors
from .runtime.ears import Ears, Loop
from .runtime.endurance import run_to_the_end
from .runtime.outlet import Sink
from .runtime.pump import Outside
from .runtime.service import Service, connected
from .runtime.signals import Signals
from .runtime.stderr import drain, log_to_stderr
from .runtime.stdio import Input, Output
from .runtime.watch import Watch

_CHUNK = 65536
_A_MOMENT = 0.05


async def serve_streams(service: Service, reader: Reader, writer: Writer) -> None:
    """Serve one client over asyncio streams, until it ends its side."""
    framer = Framer(service.limits.message_bytes)
    async with connected(service, _StreamOutlet(writer, framer)) as connection:
        data = b"-"
        while data:
            try:
                data = await reader.read(_CHUNK)
            except ConnectionError:
                data = b""
            framer.feed(data)
            while framer.frames:
                connection.receive(framer.frames.popleft())
            with contextlib.suppress(ConnectionError):
                await writer.drain()
    with contextlib.suppress(ConnectionError):
        await writer.drain()


class _StreamOutlet(Sink):
    """Sends by a stream that waits where it is asked to, and nowhere else."""

    def __init__(self, writer: Writer, framer: Framer) -> None:
        super().__init__(self._write)
        self._writer = writer
        self._framer = framer
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def _write(self, frame: bytes) -> None:
        data = self._framer.wrap((frame,))
        if threading.get_ident() == self._thread:
            self._writer.write(data)
        else:
            self._loop.call_soon_threadsafe(self._writer.write, data)

    def drained(self) -> Awaitable[None]:
        """Wait until there is room."""
        return self._writer.drain()


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
    """
    wires = descriptors.take()
    log_to_stderr()
    if os.isatty(wires.input):
        sys.stderr.write(
            f"toolhaft: {service.name} speaks MCP on stdin and stdout, one JSON message per line; "
            "Ctrl-D ends it\n"
        )
    loop = Loop()
    watch: list[Watch] = []
    main = loop.create_task(_serve_stdio(service, wires, begun, loop.ears, watch))
    try:
        run_to_the_end(loop, main)
    finally:
        begun.signals.release()
        if not last:
            for each in watch:
                each.dismiss()
        drain.flush()
        loop.close()


async def _serve_stdio(
    service: Service,
    wires: descriptors.Descriptors,
    begun: Begun,
    ears: Ears,
    watches: list[Watch],
) -> None:
    loop = asyncio.get_running_loop()
    framer = begun.framer
    output = Output(wires.output, framer, service.limits.waiting_bytes)
    output.go_on(begun.left)
    over = asyncio.Event()

    def stop() -> None:
        for watch in watches:
            watch.expect_end()
        loop.call_soon_threadsafe(over.set)

    with _woken_by_signals(loop, begun.signals):
        async with connected(
            service,
            output,
            session=begun.session,
        ) as connection:
            seconds = service.limits.shutdown_seconds
            input_ = Input(
                wires.input, framer, output, connection, ended=over.set, patience=seconds
            )
            watch = Watch(connection, input_, output, stop=stop, seconds_to_end=seconds)
            watches.append(watch)
            watch.start()
            begun.signals.stop_with(stop)
            input_.start(ears)
            if framer.frames:
                # At once, as what is read by the loop: a lifespan that blocks holds up nobody.
                with Outside(loop, cast("asyncio.Task[None]", asyncio.current_task())):
                    input_.serve()
            await over.wait()
            watch.expect_end()
            output.end()
        # Whoever still reads gets everything that was answered.
        while not output.empty and watch.seconds_left() > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(output.emptied(), _A_MOMENT)


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
