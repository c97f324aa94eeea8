"""Which values are progress."""

import math
from decimal import Decimal
from typing import Any

import pytest
from tests.calls.callers import caller_of, text_in

from toolhaft import Context, Server


@pytest.fixture
def server() -> Server:
    return Server("tested", version="1", errors="show")


@pytest.mark.parametrize("token", [1, None])
@pytest.mark.parametrize(
    ("done", "total", "message", "error"),
    [
        (math.nan, None, None, "ValueError: progress must be finite, not nan"),
        (1, math.inf, None, "ValueError: progress must be finite, not 1 of inf"),
        (10**400, None, None, "ValueError: progress must be finite, not 1000"),
        (-(10**400), None, None, "ValueError: progress must be finite, not -1000"),
        (1, 10**400, None, "ValueError: progress must be finite, not 1 of 1000"),
        ("1", None, None, "TypeError: progress must be a number, not '1'"),
        (1, 2, 5, "TypeError: the message of progress must be a text, not 5"),
    ],
    ids=str,
)
async def test_what_is_no_progress_is_told_to_the_author(
    server: Server, token: int | None, done: Any, total: Any, message: Any, error: str
) -> None:
    @server.tool
    async def it(ctx: Context) -> str:
        try:
            await ctx.progress(done, total, message)
        except (TypeError, ValueError) as raised:
            return f"{type(raised).__name__}: {raised}"
        return "sent"

    async with caller_of(server) as client:
        answer = await client.ask(1, token=token)

    assert text_in(answer).startswith(error)
    assert len(text_in(answer)) < 1000
    assert client.progress() == []


@pytest.mark.parametrize(
    ("done", "sent"), [(2**53, 2**53), (-(2**70), -(2**70)), (Decimal("1.5"), 1.5), (True, 1)]
)
async def test_every_number_is_progress(server: Server, done: Any, sent: float) -> None:
    @server.tool
    async def it(ctx: Context) -> str:
        await ctx.progress(done, message="lone \ud800 half")
        return "done"

    async with caller_of(server) as client:
        await client.ask(1, token=1)

    assert client.progress() == [(sent, "lone ? half")]
