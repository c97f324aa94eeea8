"""A call over several rounds outlives the process that began it."""

import signal
from pathlib import Path
from typing import Any

import pytest
from tests.processes.fixtures import Serve
from tests.processes.process import Process, command_for, write_server

from toolhaft.testing import SyncClient, requests

SOURCE = """
@server.tool
async def order(count: int, ctx: Context) -> str:
    number = await ctx.step("number", os.getpid)
    size = await ctx.elicit("Which size?", str, key="size")
    sure = await ctx.elicit("Sure?", bool, key="sure")
    return f"{count} {size.value} {sure.value} {number != os.getpid()}"
"""


def ask(process: Process, **more: Any) -> dict[str, Any]:
    """One round: a client of the kit would play all of them."""
    params = {"name": "order", "arguments": {"count": 3}, **more}
    message = requests.of("2026-07-28").request("tools/call", params)
    process.send(message)
    return process.answer(message["id"])


def accepted(value: Any) -> dict[str, Any]:
    return {"action": "accept", "content": {"value": value}}


def test_a_call_is_completed_by_another_process_with_the_same_secret(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLHAFT_SECRET", "the-secret-of-this-host")
    first = serve(SOURCE, opened=False)
    asked = ask(first)["result"]
    first.signal(signal.SIGKILL)
    second = serve(SOURCE, opened=False)
    state = asked["requestState"]
    more = ask(second, requestState=state, inputResponses={"size": accepted("large")})["result"]
    second.signal(signal.SIGKILL)
    third = serve(SOURCE, opened=False)
    state = more["requestState"]
    done = ask(third, requestState=state, inputResponses={"sure": accepted(True)})["result"]

    assert list(asked["inputRequests"]) == ["size"]
    assert list(more["inputRequests"]) == ["sure"]
    assert done["content"] == [{"type": "text", "text": "3 large True True"}]


def test_a_process_with_another_secret_refuses_the_call(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOOLHAFT_SECRET", raising=False)
    asked = ask(serve(SOURCE, opened=False))["result"]
    second = serve(SOURCE, opened=False)

    refused = ask(second, requestState=asked["requestState"])

    assert refused["error"] == {"code": -32602, "message": "invalid or expired requestState"}


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_call_that_asks_on_stdio_is_answered(revision: str, tmp_path: Path) -> None:
    command = command_for(write_server(tmp_path, SOURCE))
    answers = {"Which size?": "small", "Sure?": True}
    with SyncClient.stdio(command, revision=revision, answers=answers) as client:
        assert client.call("order", count=3) == "3 small True False"
        asked = [each["id"] for each in client.wire.received if "method" in each and "id" in each]

    assert asked == ([] if revision == "2026-07-28" else ["ask-1", "ask-2"])
