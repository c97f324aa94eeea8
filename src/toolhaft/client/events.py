"""Server-sent events, as a client reads them."""

from collections.abc import AsyncIterator

from msgspec import Struct


class Event(Struct):
    """One block of a stream."""

    data: str = ""
    id: str | None = None
    retry: int | None = None


async def events(parts: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """The events of a stream. A line ends with CR LF, LF or CR, and an event with an empty one."""
    rest = b""
    lines: list[str] = []
    async for part in parts:
        rest += part
        held = rest.endswith(b"\r")  # its LF may be in the next part
        whole = rest[:-1] if held else rest
        *complete, last = whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        rest = last + b"\r" if held else last
        for line in complete:
            if line:
                lines.append(line.decode("utf-8", "replace"))
            elif lines:
                yield _event(lines)
                lines = []


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
        elif name == "retry" and value.isdigit():
            found.retry = int(value)
    found.data = "\n".join(data)
    return found
