"""The client for tests: in memory, in every revision. Rows: E-65."""

import asyncio
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from tests.testing.offering import ASKING, ERAS, REVISIONS, Log, make

from toolhaft import Accepted, Cancelled, Declined, McpError, Root, Sampled, Server
from toolhaft.protocol.revisions import METHODS
from toolhaft.testing import (
    Client,
    ClientRefused,
    NoAnswer,
    SyncClient,
    ToolFailed,
    Unanswered,
    UnusedAnswers,
    requests,
)
from toolhaft.types.content import TextContent
from toolhaft.types.notifications import LogMessage

every_revision = pytest.mark.parametrize("revision", REVISIONS)
every_asking = pytest.mark.parametrize("revision", ASKING)
every_era = pytest.mark.parametrize("revision", ERAS)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def server(log: Log) -> Server:
    return make(log)


# Who it talks to


async def test_without_a_revision_the_newest_is_spoken(server: Server) -> None:
    async with Client(server) as client:
        assert client.revision == "2026-07-28"
        assert [sent["method"] for sent in client.wire.sent] == ["server/discover"]


@every_era
async def test_the_lifespan_lasts_as_long_as_the_client(
    server: Server, log: Log, revision: str
) -> None:
    async with Client(server, revision) as client:
        await client.call("nothing")
        assert log == ["begin"]

    assert log == ["begin", "end"]


def test_a_misspelt_option_is_told_from_the_one_that_was_meant(server: Server) -> None:
    wrong: Any = {"revsion": "2025-06-18"}

    with pytest.raises(TypeError, match=r"'revsion'; did you mean 'revision'\?"):
        Client(server, **wrong)


def test_an_unknown_revision_or_option_is_refused(server: Server) -> None:
    with pytest.raises(TypeError, match="Client knows no 'patience'; it takes revision, answers"):
        Client(server, patience=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: Client("shop.py"), "a Client is of a Server, not of str; there are Client.stdio"),
        (lambda: SyncClient(make), "a Client is of a Server, not of function; there are"),
        (lambda: Client.asgi(make()), r"Server is no ASGI application; .* is server\.asgi\(\)"),
        (lambda: Client(make(), answers={1, 2}), "answers is a set; give a mapping, a list or"),
        (lambda: Client(make(), timeout=0), "timeout=0 must be above 0 seconds"),
        (lambda: Client(make(), timeout="5"), "timeout is a number of seconds or None, not '5'"),
    ],
    ids=["target", "function", "server", "set", "timeout", "text"],
)
def test_what_a_client_cannot_be_made_of_is_told(wrong: Any, told: str) -> None:
    with pytest.raises((TypeError, ValueError), match=told):
        wrong()


@every_revision
async def test_without_a_timeout_there_is_no_limit(revision: str, server: Server) -> None:
    async with Client(server, revision, timeout=None) as client, client.listen(tools=True) as heard:
        assert (await client.call_raw("add", {"a": 1, "b": 2})).text == "3"
        assert client.talk.timeout is None
        with pytest.raises(NoAnswer, match=r"within 0\.05 seconds"):
            await heard.next(0.05)


async def test_what_cannot_be_sent_is_told(server: Server) -> None:
    async with Client(server) as client:
        with pytest.raises(TypeError, match=r"tools/call: the params .* are no JSON: Encoding"):
            await client.call("words", text=object())
        with pytest.raises(TypeError, match=r"raw sends a dict, a list, a text or bytes .*not int"):
            await client.raw(5)  # type: ignore[arg-type]


async def test_an_unknown_revision_is_refused(server: Server) -> None:
    with pytest.raises(ValueError, match="no such revision: '1999'; there are 2026-07-28"):
        async with Client(server, "1999"):
            pass


async def test_a_client_is_used_in_a_block(server: Server) -> None:
    client = Client(server)
    with pytest.raises(RuntimeError, match="not open; use it in: async with Client"):
        await client.ping()
    async with client:
        with pytest.raises(RuntimeError, match="open already"):
            await client.__aenter__()


# Tools


@every_revision
async def test_a_refusal_is_an_error_with_its_code(server: Server, revision: str) -> None:
    async with Client(server, revision) as client:
        with pytest.raises(McpError, match="nonesuch") as failure:
            await client.call("nonesuch")

    assert failure.value.code == -32602


async def test_arguments_may_be_values_of_types(server: Server) -> None:
    async with Client(server) as client:
        assert await client.call("point", msgspec.structs.asdict(_XY(1, 2))) == {"x": 1, "y": 2}
        assert await client.call("words", {"text": "🦜 é \n"}) == "🦜 é \n"


class _XY(msgspec.Struct):
    x: int
    y: int


@every_revision
async def test_lists_are_whole(server: Server, revision: str) -> None:
    async with Client(server, revision) as client:
        tools = await client.list_tools()
        templates = await client.list_templates()
        resources = await client.list_resources()
        prompts = await client.list_prompts()
        add = await client.tool("add")

    assert len(tools) == 14
    assert add in tools
    assert add.description == "Add two numbers."
    assert [each.uri_template for each in templates] == ["notes://{name}"]
    assert {each.uri: each.mime_type for each in resources} == {
        "notes://all": "text/plain",
        "blob://one": UNSET,
    }
    assert [each.name for each in prompts] == ["review", "greet"]


async def test_a_tool_that_is_not_listed_fails_the_test(server: Server) -> None:
    async with Client(server) as client:
        with pytest.raises(AssertionError, match="no tool 'sub'; there are add, point"):
            await client.tool("sub")


# Questions


@every_asking
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (12, "size 12"),
        (Accepted(12), "size 12"),
        ({"value": 12}, "size 12"),
        ({"action": "accept", "content": {"value": 12}}, "size 12"),
        (Declined(), "Declined"),
        (Cancelled(), "Cancelled"),
        (lambda params: len(params["message"]), "size 11"),
    ],
    ids=["value", "accepted", "fields", "whole", "declined", "cancelled", "function"],
)
async def test_a_question_is_answered(
    server: Server, revision: str, answer: Any, text: str
) -> None:
    async with Client(server, revision, answers={"Which size?": answer}) as client:
        assert await client.call("order") == text
        assert [question.text for question in client.questions] == ["Which size?"]


@every_asking
async def test_questions_are_answered_in_order_or_by_a_function(
    server: Server, revision: str
) -> None:
    async def answer(_method: str, params: Any) -> str:
        return str(params["message"]).lower()

    async with Client(server, revision, answers=["a", "b"]) as client:
        assert await client.call("twice") == ["a", "b"]
    async with Client(server, revision, answers=answer) as client:
        assert await client.call("twice") == ["first?", "second?"]


@pytest.mark.parametrize("revision", ERAS)
async def test_models_and_roots_answer_by_their_words_or_by_their_method(
    server: Server, revision: str
) -> None:
    sampled = Sampled(role="assistant", content=[TextContent("ho")], model="m")
    for words, places in [("ho", ["file:///x"]), (sampled, [Root("file:///x")])]:
        answers = {"A word?": words, "roots/list": places}
        async with Client(server, revision, answers=answers) as client:
            assert await client.call("think") == "ho in file:///x"


@pytest.mark.parametrize("revision", ERAS)
async def test_a_page_is_visited_or_not(server: Server, revision: str) -> None:
    for answer, came in [(True, "Accepted"), (Declined(), "Declined")]:
        async with Client(server, revision, answers={"Sign in?": answer}) as client:
            assert await client.call("visit") == came


@every_asking
async def test_a_question_that_nobody_expects_fails_the_test(server: Server, revision: str) -> None:
    expected = r"no answer to elicitation/create: 'Which size\?'; give answers={'Which size\?': …}"
    async with Client(server, revision) as client:
        with pytest.raises(Unanswered, match=expected):
            await client.call("order")
        assert await client.call("nothing") is None


@every_asking
async def test_one_question_too_many_fails_the_test(server: Server, revision: str) -> None:
    async with Client(server, revision, answers=["a"]) as client:
        with pytest.raises(Unanswered, match=r"'Second\?'; give answers=\[…\] with more than 1"):
            await client.call("twice")


@every_asking
@pytest.mark.parametrize(
    ("answers", "told"),
    [({"Which size?": 1, "Which colour?": 2}, "'Which colour"), ([1, 2], "question 2: 2")],
    ids=["by name", "in order"],
)
async def test_answers_that_nobody_asks_for_fail_the_test(
    server: Server, revision: str, answers: Any, told: str
) -> None:
    with pytest.raises(UnusedAnswers, match=f"nobody has asked for the answers to {told}"):
        async with Client(server, revision, answers=answers) as client:
            await client.call("order")


async def test_an_error_is_not_covered_up_by_unused_answers(server: Server) -> None:
    with pytest.raises(ToolFailed):
        async with Client(server, answers={"Which size?": 1}) as client:
            await client.call("fails")


@every_asking
async def test_answers_may_change_on_the_way(server: Server, revision: str) -> None:
    async with Client(server, revision, answers=[1]) as client:
        with pytest.raises(UnusedAnswers):
            client.answer([2])
        assert await client.call("order") == "size 1"
        client.answer({"Which size?": 2})
        assert await client.call("order") == "size 2"


@every_era
async def test_a_client_may_refuse(server: Server, revision: str) -> None:
    refusal = McpError("not today", code=-1, data={"until": "noon"})
    async with Client(server, revision, answers={"Which size?": refusal}) as client:
        with pytest.raises((McpError, ToolFailed), match="not today") as caught:
            await client.call("order")
        sent = [each["error"] for each in client.wire.sent if "error" in each]

    if revision == "2026-07-28":
        assert isinstance(caught.value, ClientRefused)
        assert "this client refused elicitation/create, and left the call" in str(caught.value)
        assert sent == []
    else:
        assert sent == [{"code": -1, "message": "not today", "data": {"until": "noon"}}]


async def test_rounds_are_counted(server: Server) -> None:
    async with Client(server, "2026-07-28", answers=["a", "b"]) as client:
        await client.call("twice")
        assert client.rounds == 3


# What is told on the way


@every_revision
async def test_progress_and_logs_are_heard(server: Server, revision: str) -> None:
    told: list[Any] = []
    logs: list[LogMessage] = []
    async with Client(
        server, revision, on_progress=lambda *args: told.append(args), on_log=logs.append
    ) as client:
        await client.call("steps")

    has_words = revision > "2025"
    words = [f"step {done}" if has_words else None for done in (1, 2)]
    assert told == [(1, 2, words[0]), (2, 2, words[1])]
    assert [(each.level, each.data, each.logger) for each in logs] == [
        ("info", {"said": "hello"}, "steps")
    ]


@every_era
async def test_progress_of_one_call_is_told_to_that_call(server: Server, revision: str) -> None:
    told: list[Any] = []
    async with Client(server, revision) as client:
        await client.call_raw("steps", on_progress=lambda *args: told.append(args))
        await client.call("steps")

    assert told == [(1, 2, "step 1"), (2, 2, "step 2")]


@every_era
async def test_the_level_of_logs_can_change(server: Server, revision: str) -> None:
    logs: list[LogMessage] = []
    async with Client(server, revision, on_log=logs.append, level="error") as client:
        await client.call("steps")
        assert logs == []
        await client.set_level("debug")
        await client.call("steps")
        assert len(logs) == 1


@every_era
async def test_who_hears_may_fail_the_test(server: Server, revision: str) -> None:
    def hear(_log: LogMessage) -> None:
        raise AssertionError("that should not be said")

    async with Client(server, revision, on_log=hear) as client:
        with pytest.raises(AssertionError, match="should not be said"):
            await client.call("steps")


async def test_every_notification_is_told_to_who_wants_them(server: Server) -> None:
    heard: list[str] = []
    async with Client(
        server, "2025-11-25", on_notice=lambda notice: heard.append(notice.method), level="info"
    ) as client:
        await client.call_raw("steps", on_progress=lambda *_: None)

    assert heard == ["notifications/progress"] * 2 + ["notifications/message"]


# Waiting


@every_era
async def test_a_call_that_takes_too_long_is_taken_back(
    server: Server, log: Log, revision: str
) -> None:
    async with Client(server, revision) as client:
        with pytest.raises(NoAnswer, match=r"^tools/call 'waits': no answer within 0\.05 seconds$"):
            await client.call_raw("waits", timeout=0.05)
        await client.call("nothing")

        assert client.wire.sent[-2]["method"] == "notifications/cancelled"
    assert "cancelled" in log


@every_era
async def test_a_call_that_is_cancelled_is_taken_back(
    server: Server, log: Log, revision: str
) -> None:
    async with Client(server, revision) as client:
        calling = asyncio.create_task(client.call("waits"))
        await log.is_waiting.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await client.call("nothing")

        cancelled = [each for each in client.wire.sent if each["method"].endswith("/cancelled")]
        [call] = [
            each for each in client.wire.sent if each.get("params", {}).get("name") == "waits"
        ]
        assert [each["params"] for each in cancelled] == [{"requestId": call["id"]}]
    assert "cancelled" in log


async def test_calls_run_side_by_side(server: Server) -> None:
    async with Client(server) as client:
        found = await asyncio.gather(*(client.call("add", a=n, b=n) for n in range(20)))

    assert found == [2 * n for n in range(20)]


# Messages as they are


@every_revision
async def test_messages_can_be_sent_as_they_are(server: Server, revision: str) -> None:
    async with Client(server, revision) as client:
        answer = await client.raw(client.requests.tools_call("add", {"a": 1, "b": 2}))
        unknown = await client.raw({"jsonrpc": "2.0", "id": "x", "method": "no/such"})
        garbage = await client.raw("{")
        number = await client.raw(b"7")
        text = await client.raw('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}')
        none = await client.raw({"jsonrpc": "2.0", "method": "notifications/nonesuch"})

    assert answer["result"]["content"] == [{"type": "text", "text": "3"}]
    assert unknown["id"] == "x"
    assert garbage["error"]["code"] == -32700
    assert number["error"]["code"] == -32600
    assert "error" in text
    assert none is None


async def test_an_id_cannot_be_used_twice_at_once(server: Server, log: Log) -> None:
    async with Client(server) as client:
        message = client.requests.tools_call("waits")
        calling = asyncio.create_task(client.raw(message))
        await log.is_waiting.wait()
        with pytest.raises(ValueError, match="another request with the id"):
            await client.raw(message)
        calling.cancel()


@every_era
async def test_any_request_and_notification_can_be_sent(server: Server, revision: str) -> None:
    async with Client(server, revision) as client:
        assert (await client.request("resources/read", {"uri": "notes://all"}))["contents"]
        await client.notify("notifications/nonesuch", {"a": 1})
        assert client.wire.sent[-1] == {
            "jsonrpc": "2.0",
            "method": "notifications/nonesuch",
            "params": {"a": 1},
        }


async def test_requests_are_made_for_every_method() -> None:
    missing = [name for name in METHODS if not hasattr(requests, _function(name))]

    assert missing == []


def _function(method: str) -> str:
    return method.replace("/", "_").replace("setLevel", "set_level")


@every_revision
async def test_a_server_answers_to_every_request_that_is_made(
    server: Server, revision: str
) -> None:
    made = requests.of(revision)
    if revision != "2026-07-28":
        await server.handle(made.initialize(revision))
    for message in (
        made.tools_list(),
        made.tools_call("add", {"a": 1, "b": 2}),
        made.resources_list(),
        made.resources_templates_list(),
        made.resources_read("notes://all"),
        made.prompts_list(),
        made.prompts_get("greet", {"mood": "sad"}),
        made.completion_complete("greet", "mood", "s"),
        made.completion_complete("notes://{name}", "name"),
        made.subscriptions_listen(tools=True) if revision in ERAS[:1] else made.ping(),
        made.server_discover() if revision in ERAS[:1] else made.logging_set_level("info"),
    ):
        answer = await server.handle(message)
        assert answer is not None
        assert "result" in answer, (message, answer)


@pytest.mark.parametrize("revision", ["2025-11-25", "2024-11-05"])
async def test_a_server_that_answers_one_message_keeps_no_subscriptions(
    server: Server, revision: str
) -> None:
    made = requests.of(revision)
    begun = await server.handle(made.initialize(revision))
    messages = made.resources_subscribe("notes://all"), made.resources_unsubscribe("notes://all")
    answers = [await server.handle(message) for message in messages]

    assert begun is not None
    assert begun["result"]["capabilities"]["resources"] == {}
    assert [answer and answer["error"]["code"] for answer in answers] == [-32601, -32601]


# For plain functions


def test_nothing_of_the_kit_is_loaded_by_the_package() -> None:
    code = "import toolhaft, sys; print([m for m in sys.modules if 'toolhaft.testing' in m or "
    code += "'toolhaft.client' in m])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True
    )

    assert done.stdout == "[]\n"
