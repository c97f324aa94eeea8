"""One client of a living process, from its first word to its last."""

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

_A_MOMENT: Final = 0.05


class _Way(NamedTuple):
    """How a client is spoken with: on the wire, or on what its bridge has handed over."""

    output: Output
    # The descriptors.
    reads: int
    writes: int
    read: Callable[[int, int], bytes]
    # See `Input`: the end of a bridge tells by itself that its client is not there any more.
    patience: float | None


def _way(
    wire: socket.socket,
    handed: PassedDescriptors,
    framer: Framer,
    limits: Limits,
    *,
    broken: Callable[[], None],
) -> _Way:
    journal, high = handed.journal, limits.waiting_bytes
    if journal is None:
        both = wire.fileno()
        return _Way(Output(both, framer, high), both, both, os.read, limits.shutdown_seconds)
    output = RecordedOutput(handed, framer, high, journal, broken=broken)
    return _Way(output, handed.input, handed.output, journal.read, None)


async def converse(
    service: Service,
    wire: socket.socket,
    rest: bytes,
    *,
    handed: PassedDescriptors,
    loop: Loop,
    place: Place | None,
    ending: asyncio.Event,
) -> None:
    """Serve a client until it has gone, or has said all and got its answers, or the service ends.

    Args:
        rest: what has come behind the first line.
    """
    limits = service.limits
    # The client has said all; and it is not there any more.
    over, gone = asyncio.Event(), asyncio.Event()

    def left() -> None:
        over.set()
        gone.set()

    framer = Framer(limits.message_bytes)
    way = _way(wire, handed, framer, limits, broken=left)
    output = way.output
    assert isinstance(loop.inline_selector, ManyInlineSelector)
    reader, leash = (
        ManyInlineReader(loop.inline_selector, over.set),
        ManyInlineReader(loop.inline_selector, over.set),
    )
    try:
        async with connected(
            service,
            output,
            place=place,
        ) as connection:
            input_ = Input(
                way.reads,
                framer,
                output,
                connection,
                ended=over.set,
                stall_seconds=way.patience,
                read=way.read,
            )
            input_.start(reader)
            if handed.journal is not None:
                leash.await_end(wire.fileno(), left)
            if rest:
                framer.feed(rest)
                loop.call_soon(input_.serve)
            await _first(over.wait(), ending.wait())
            # As long as the client is there, its calls may take their time.
            reader.ignore()
            reader.await_end(way.writes, gone.set)
            connection.driver.closing.set()
            await _first(gone.wait(), ending.wait(), connection.driver.quiet(None))
            output.end()
        await _deliver(output, limits.shutdown_seconds, lambda: gone.is_set() or ending.is_set())
    finally:
        reader.ignore()
        leash.ignore()
        output.close()
        handed.close()


async def _deliver(output: Output, seconds: float, hurry: Callable[[], bool]) -> None:
    """Whoever is there gets everything that was answered, however late it reads: that it has gone
    would be told. There is a limit only if somebody is in a hurry."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not output.empty and loop.time() < deadline:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(output.emptied(), _A_MOMENT)
        if not hurry():
            deadline = loop.time() + seconds


async def _first(*waits: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of these has come."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    for task in tasks:
        hide_task(task)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
