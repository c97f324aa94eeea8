"""A call over several rounds outlives the process that began it."""

import signal
from typing import Any

import pytest
from tests.runtime.conftest import Serve
from tests.runtime.process import Process

SOURCE = """
@server.tool
async def order(count: int, ctx: Context) -> str:
    number = await ctx.step("number", os.getpid)
    size = await ctx.elicit("Which size?", str, key="size")
    sure = await ctx.elicit("Sure?", bool, key="sure")
    return f"{count} {size.value} {sure.value} {number != os.getpid()}"
"""
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}


def ask(process: Process, id_: int, **more: Any) -> dict[str, Any]:
    params = {"name": "order", "arguments": {"count": 3}, "_meta": META, **more}
    process.send({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params})
    return process.answer(id_)


def accepted(value: Any) -> dict[str, Any]:
    return {"action": "accept", "content": {"value": value}}


def test_a_call_is_completed_by_another_process_with_the_same_secret(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLHAFT_SECRET", "the-secret-of-this-host")
    first = serve(SOURCE, opened=False)
    asked = ask(first, 1)["result"]
    first.signal(signal.SIGKILL)
    second = serve(SOURCE, opened=False)
    state = asked["requestState"]
    more = ask(second, 2, requestState=state, inputResponses={"size": accepted("large")})["result"]
    second.signal(signal.SIGKILL)
    third = serve(SOURCE, opened=False)
    state = more["requestState"]
    done = ask(third, 3, requestState=state, inputResponses={"sure": accepted(True)})["result"]

    assert list(asked["inputRequests"]) == ["size"]
    assert list(more["inputRequests"]) == ["sure"]
    assert done["content"] == [{"type": "text", "text": "3 large True True"}]


def test_a_process_with_another_secret_refuses_the_call(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOOLHAFT_SECRET", raising=False)
    asked = ask(serve(SOURCE, opened=False), 1)["result"]
    second = serve(SOURCE, opened=False)

    refused = ask(second, 2, requestState=asked["requestState"])

    assert refused["error"] == {"code": -32602, "message": "invalid or expired requestState"}


def test_a_call_that_asks_on_stdio_is_answered_by_requests(serve: Serve) -> None:
    process = serve(SOURCE, opened=False)
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "0"},
    }
    process.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    process.answer(0)
    process.call(1, "order", count=3)
    for id_, value in (("ask-1", "small"), ("ask-2", True)):
        [asked] = process.answers(1)
        assert (asked["id"], asked["method"]) == (id_, "elicitation/create")
        process.send({"jsonrpc": "2.0", "id": id_, "result": accepted(value)})

    text = process.answer(1)["result"]["content"][0]["text"]

    assert text == "3 small True False"
