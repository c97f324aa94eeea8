"""Clients of an attached process: through bridges, and straight to its socket."""

import asyncio
import contextlib
import random
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from tests.attaching.living import BRIDGE, SERVE
from tests.soak.clients import CALLS, GARBAGE, LONGEST, PATIENCE, Lines, pause
from tests.soak.ledger import Ledger

# How a bridge ends, by what ends it. It has no handlers: there is nothing that it would lose.
STATUSES: dict[signal.Signals | None, int] = {
    None: 0,
    signal.SIGTERM: -signal.SIGTERM,
    signal.SIGINT: 130,
    signal.SIGKILL: -signal.SIGKILL,
}


def bridge_to(path: str) -> list[str]:
    """The command of a bridge."""
    return [sys.executable, "-c", BRIDGE, "attach", "--socket", path]


async def living(path: str, *before: str) -> "asyncio.subprocess.Process":
    """The program, as soon as it can be reached."""
    process = await asyncio.create_subprocess_exec(
        *before,
        *(sys.executable, "-m", "tests.soak.living", path),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    if await asyncio.wait_for(process.stdout.readline(), PATIENCE) != b"attached\n":
        raise SystemExit("the program was not attached")
    return process


class Dialled(Lines):
    """A client on the socket."""

    async def dial(self, path: str) -> "Dialled":
        """Connect, say what a bridge says, and shake hands."""
        reader, writer = await asyncio.open_unix_connection(path, limit=LONGEST)
        writer.write(SERVE)
        await asyncio.wait_for(reader.readline(), PATIENCE)
        await self._open(reader, writer)
        return self

    async def leave(self) -> None:
        """Say nothing more, and read what is still said."""
        self._writer.write_eof()
        await asyncio.wait_for(self._reading, PATIENCE)
        self._writer.close()

    async def vanish(self) -> None:
        """Leave in the middle."""
        self._writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await self._reading


async def steady_on_the_socket(
    path: str, ledger: Ledger, chance: random.Random, over: asyncio.Event
) -> None:
    """Calls on a connection; then another one takes its place."""
    while not over.is_set():
        client = await Dialled(ledger).dial(path)
        for _ in range(chance.choice((1, 5, 50))):
            await asyncio.gather(*(client.call(*chance.choice(CALLS)) for _ in range(4)))
        if chance.random() < 0.3:
            await client.take_back()
        await client.leave()
        ledger.note("guests")


Mischief = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[Any]]


async def _says_nothing(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    await asyncio.sleep(0.1)


async def _says_half(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(SERVE[:-5])


async def _says_nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    await reader.read(1000)


async def _asks_who_is_there(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(SERVE.replace(b"serve", b"info"))
    await reader.readline()


async def _serves_garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(SERVE + b"\n".join(GARBAGE) + b"\n")
    await reader.read(5000)


async def _says_too_much(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(SERVE + b"x" * (5 * 1024 * 1024) + b"\n")
    await reader.read(5000)


MISCHIEF: list[Mischief] = [
    _says_nothing, _says_half, _says_nonsense, _asks_who_is_there, _serves_garbage, _says_too_much,
]  # fmt: skip


async def mischief_on_the_socket(
    path: str, ledger: Ledger, chance: random.Random, over: asyncio.Event
) -> None:
    """Guests that do as they like and leave without a word, some of them within a call."""
    while not over.is_set():
        if chance.random() < 0.2:
            client = await Dialled(ledger).dial(path)
            await client.abandon()
            await client.vanish()
        else:
            with contextlib.suppress(OSError, TimeoutError):
                reader, writer = await asyncio.open_unix_connection(path)
                await asyncio.wait_for(chance.choice(MISCHIEF)(reader, writer), 5)
                writer.transport.abort()
        ledger.note("guests without a word")
        await pause(over, 0.05)


async def floods_on_the_socket(
    path: str, ledger: Ledger, chance: random.Random, over: asyncio.Event
) -> None:
    """Fifty guests at once, every few seconds."""
    while not over.is_set():
        guests = await asyncio.gather(*(Dialled(ledger).dial(path) for _ in range(50)))
        await asyncio.gather(*(guest.call(*chance.choice(CALLS)) for guest in guests))
        await asyncio.gather(*(guest.leave() for guest in guests))
        ledger.note("floods of guests")
        await pause(over, 5)
