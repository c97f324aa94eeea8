"""A call cannot flood its client with progress."""

import pytest
from tests.asking import NEW, OLD

from toolhaft import Context, Limits, Server
from toolhaft.testing import Client

REPORTS = 5000


def reporting(*, per_second: float) -> Server:
    server = Server("busy", version="1.0.0", limits=Limits(progress_per_second=per_second))

    @server.tool
    async def counted(ctx: Context) -> str:
        for done in range(1, REPORTS + 1):
            await ctx.progress(done, REPORTS)
        return "done"

    @server.tool
    def plain(ctx: Context) -> str:
        for done in range(1, REPORTS + 1):
            ctx.sync.progress(done, REPORTS)
        return "done"

    @server.tool
    async def endless(ctx: Context) -> str:
        for done in range(1, REPORTS + 1):
            await ctx.progress(done, done)  # says each time that it is complete
        return "done"

    return server


async def told(server: Server, tool: str, revision: str) -> list[float]:
    reports: list[float] = []
    async with Client(server, revision) as client:
        answer = await client.call_raw(
            tool, {}, on_progress=lambda done, total, message: reports.append(done)
        )
    assert answer.text == "done"
    return reports


@pytest.mark.parametrize("revision", [NEW, OLD])
@pytest.mark.parametrize("tool", ["counted", "plain"])
async def test_reports_beyond_the_rate_are_left_out_but_for_the_last(
    tool: str, revision: str
) -> None:
    reports = await told(reporting(per_second=1), tool, revision)

    assert reports[0] == 1
    assert reports[-1] == REPORTS
    assert len(reports) < REPORTS / 10


async def test_a_call_that_says_each_time_that_it_is_complete_is_held_to_the_rate() -> None:
    assert len(await told(reporting(per_second=1), "endless", NEW)) < REPORTS / 10


async def test_reports_within_the_rate_are_all_sent() -> None:
    reports = await told(reporting(per_second=REPORTS), "counted", NEW)
    assert reports == list(range(1, REPORTS + 1))
