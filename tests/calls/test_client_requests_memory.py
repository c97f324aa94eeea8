"""A call that has asked leaves nothing behind."""

import asyncio
import gc
import weakref
from typing import Any

import pytest

from toolhaft import Accepted, Context, Server
from toolhaft.calls.client_requests import ClientRequests
from toolhaft.testing import play


async def name(ctx: Context) -> str:
    answer = await ctx.elicit("Name?", str)
    return answer.value if isinstance(answer, Accepted) else "nobody"


def name_plainly(ctx: Context) -> str:
    answer = ctx.sync.elicit("Name?", str)
    return answer.value if isinstance(answer, Accepted) else "nobody"


@pytest.mark.parametrize("tool", [name, name_plainly])
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_a_call_that_is_over_is_forgotten(
    tool: Any, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolhaft.calls.client_requests._CLEAN_UP", 0)
    seen: list[weakref.ref[ClientRequests]] = []
    begin = ClientRequests.__init__

    def noted(self: ClientRequests, *args: Any) -> None:
        begin(self, *args)
        seen.append(weakref.ref(self))

    monkeypatch.setattr(ClientRequests, "__init__", noted)
    server = Server("s")
    server.add_tool(tool, name="tool")
    for _ in range(3):
        assert (await play(server, "tool", answers={"Name?": "Ann"}, revision=revision)).text

    for _ in range(500):  # the thread of a plain function lets go a moment after its answer
        gc.collect()
        if not any(each() for each in seen):
            break
        await asyncio.sleep(0.01)

    assert len(seen) >= 3
    assert [each for each in seen if each() is not None] == []
