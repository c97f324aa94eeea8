"""Server-sent events, as the client reads them: in whatever parts they come."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from toolhaft.client.http.sse_events import events


async def read(*parts: bytes) -> list[tuple[str, str | None, int | None]]:
    async def coming() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    return [(each.data, each.id, each.retry) async for each in events(coming())]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CR LF", "CR"])
def test_lines_end_in_three_ways_wherever_they_are_cut(end: str) -> None:
    stream = end.join(["id: 1", "data: x", "data: y", "", ": hi", "data: z", "", ""]).encode()
    expected = [("x\ny", "1", None), ("z", None, None)]

    assert asyncio.run(read(stream)) == expected
    assert asyncio.run(read(*(stream[at : at + 1] for at in range(len(stream))))) == expected
    for at in range(len(stream)):
        assert asyncio.run(read(stream[:at], stream[at:])) == expected


def test_a_mark_of_the_byte_order_is_no_part_of_the_first_field() -> None:
    assert asyncio.run(read(b"\xef\xbb", b"\xbfdata: x\n\n")) == [("x", None, None)]


def test_only_digits_of_ascii_are_a_time() -> None:
    stream = "retry: ²\ndata: x\n\nretry: 7\ndata: y\n\n".encode()
    assert asyncio.run(read(stream)) == [("x", None, None), ("y", None, 7)]
