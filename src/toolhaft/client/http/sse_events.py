"""Server-sent events, as a client reads them."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from msgspec import Struct


class Event(Struct):
    """One block of a stream."""

    data: str = ""
    id: str | None = None
    retry: int | None = None


async def events(parts: AsyncIterator[bytes]) -> AsyncGenerator[Event]:
    """The events of a stream. A line ends with CR LF, LF or CR, and an event with an empty one."""
    lines: list[str] = []
    async with aclosing(_lines(parts)) as found:
        async for line in found:
            if line:
                lines.append(line)
            elif lines:
                yield _event(lines)
                lines = []


async def _lines(parts: AsyncIterator[bytes]) -> AsyncGenerator[str]:
    # A line as it comes, in parts: joined once, when it is whole.
    rest: list[bytes] = []
    after_cr, is_first = False, True
    async for part in parts:
        if not part:
            continue
        # The LF of a CR that has ended a line already.
        fresh = part[1:] if after_cr and part.startswith(b"\n") else part
        after_cr = part.endswith(b"\r")
        *complete, last = fresh.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for each in complete:
            line = b"".join([*rest, each]).decode("utf-8", "replace")
            yield line.removeprefix("\ufeff") if is_first else line
            rest, is_first = [], False
        rest.append(last)


def _event(lines: list[str]) -> Event:
    found = Event()
    data: list[str] = []
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "id":
            found.id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            found.retry = int(value)
    found.data = "\n".join(data)
    return found
