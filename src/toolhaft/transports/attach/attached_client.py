"""The connection of one client to an attached process, after its preamble."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple

from ...calls.service import Service, connected
from ...process.inline_loop import Loop
from ...process.loop_guard import hide_task
from ...protocol.framing import Framer
from ...protocol.limits import Limits
from ...protocol.ports import Place
from ..pipes import Input, Output
from .inline_loop_many import ManyInlineReader, ManyInlineSelector
from .passed_fds import PassedDescriptors, RecordedOutput

# Seconds between two checks for a disconnection or a shutdown while output is delivered.
_CHECK_SECONDS: Final = 0.05


class _Channel(NamedTuple):
    """The streams of a client: the Unix socket, or the descriptors that its bridge passed."""

    output: Output
    input_fd: int
    output_fd: int
    read: Callable[[int, int], bytes]
    # See `Input`. None with passed descriptors: the bridge's socket closes when the client is gone.
    stall_seconds: float | None


def _open_channel(
    wire: socket.socket,
    handed: PassedDescriptors,
    framer: Framer,
    limits: Limits,
    *,
    broken: Callable[[], None],
) -> _Channel:
    journal, high = handed.journal, limits.waiting_bytes
    if journal is None:
        both = wire.fileno()
        return _Channel(Output(both, framer, high), both, both, os.read, limits.shutdown_seconds)
    output = RecordedOutput(handed, framer, high, journal, broken=broken)
    return _Channel(output, handed.input, handed.output, journal.read, None)


async def serve_client(
    service: Service,
    wire: socket.socket,
    rest: bytes,
    *,
    handed: PassedDescriptors,
    loop: Loop,
    place: Place | None,
    shutdown: asyncio.Event,
) -> None:
    """Serve a client until it disconnects, has all answers after its end of input, or `shutdown`.

    Args:
        rest: bytes that were received after the preamble.
    """
    limits = service.limits
    # The client has closed its input; and it has disconnected.
    input_ended, gone = asyncio.Event(), asyncio.Event()

    def disconnected() -> None:
        input_ended.set()
        gone.set()

    framer = Framer(limits.message_bytes)
    channel = _open_channel(wire, handed, framer, limits, broken=disconnected)
    output = channel.output
    assert isinstance(loop.inline_selector, ManyInlineSelector)
    reader, bridge_watch = (
        ManyInlineReader(loop.inline_selector, input_ended.set),
        ManyInlineReader(loop.inline_selector, input_ended.set),
    )
    try:
        async with connected(
            service,
            output,
            place=place,
        ) as connection:
            input_ = Input(
                channel.input_fd,
                framer,
                output,
                connection,
                ended=input_ended.set,
                stall_seconds=channel.stall_seconds,
                read=channel.read,
            )
            input_.start(reader)
            if handed.journal is not None:
                bridge_watch.await_end(wire.fileno(), disconnected)
            if rest:
                framer.feed(rest)
                loop.call_soon(input_.serve)
            await _wait_first(input_ended.wait(), shutdown.wait())
            # While the client is connected, its calls in progress have no time limit.
            reader.ignore()
            reader.await_end(channel.output_fd, gone.set)
            connection.driver.closing.set()
            await _wait_first(gone.wait(), shutdown.wait(), connection.driver.quiet(None))
            output.end()
        await _deliver(output, limits.shutdown_seconds, lambda: gone.is_set() or shutdown.is_set())
    finally:
        reader.ignore()
        bridge_watch.ignore()
        output.close()
        handed.close()


async def _deliver(output: Output, seconds: float, is_limited: Callable[[], bool]) -> None:
    """Wait until all output is written. The limit in seconds counts from when `is_limited` is true:
    until then a client may read as late as it likes, since its disconnection is noticed."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not output.empty and loop.time() < deadline:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(output.emptied(), _CHECK_SECONDS)
        if not is_limited():
            deadline = loop.time() + seconds


async def _wait_first(*waits: Coroutine[Any, Any, Any]) -> None:
    """Wait until the first of these is done, and cancel the others."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    for task in tasks:
        hide_task(task)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
