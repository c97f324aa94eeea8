"""Play one call against a server in memory, and answer whatever it asks."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from ..client.conversation import Conversation
from ..client.memory import InMemory
from ..client.request_meta import ALL_CAPABILITIES
from ..errors import McpError
from ..protocol.revisions import NEWEST_HANDSHAKE, SUPPORTED
from ..protocol.stateless import SERVER_INFO
from ..server.server import Server
from .answers import Answers, Script
from .call_recorder import Acts, counted, watched
from .requests import INFO

_PATIENCE = 60.0

Message: TypeAlias = dict[str, Any]


class Differs(AssertionError):
    """A call does one thing in one era and another in the other."""


class Played(msgspec.Struct):
    """How a call went: what it asked, in order and each question once, and how it ended."""

    questions: list[Message]
    # The result without what only says how it was sent; or the error.
    result: Message | None = None
    error: Message | None = None
    rounds: int = 1

    @property
    def text(self) -> str:
        """The text of the result."""
        blocks: list[Message] = [] if self.result is None else self.result.get("content", [])
        return "\n".join(block["text"] for block in blocks if block["type"] == "text")


async def play(
    server: Server,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    answers: Answers | None = None,
    revision: str = SUPPORTED[0],
) -> Played:
    """Call a tool and answer its questions until it is done.

    Args:
        answers: as those of a `Client`, but not all of them need to be asked for.

    Raises:
        Unanswered: there is no answer to a question.
    """
    played = Played([])
    await play_call(server, tool, arguments, answers, revision=revision, played=played)
    return played


async def play_call(
    server: Server,
    tool: str,
    arguments: Mapping[str, Any] | None,
    answers: Answers | None,
    *,
    revision: str,
    played: Played,
) -> None:
    """The same, for those who want to look on."""
    script = Script(answers)

    async def answer(method: str, params: Message) -> Message:
        params = {name: each for name, each in params.items() if name != "elicitationId"}
        question = {"method": method, "params": params}
        if question not in played.questions:
            played.questions.append(question)
        answered = await script.answer(method, params)
        played.rounds = talk.rounds if talk.revision.handshake else talk.rounds + 1
        return answered

    talk = Conversation(
        InMemory(server),
        revision=revision,
        info=INFO,
        capabilities=ALL_CAPABILITIES,
        answer=answer,
        timeout=_PATIENCE,
    )
    try:
        await talk.begin()
        params = {"name": tool, "arguments": msgspec.to_builtins(dict(arguments or {}))}
        played.result = _unstamped(await talk.request("tools/call", params))
    except McpError as error:
        played.error = {"code": error.code, "message": error.message}
        if error.data is not msgspec.UNSET:
            played.error["data"] = error.data
    finally:
        await talk.end()


async def in_both_eras(
    server: Server,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    answers: Answers | None = None,
    acts: Acts = (),
) -> Played:
    """Call a tool by requests of ours and by rounds; how it went, if that was the same.

    Args:
        acts: what to look at besides: objects and the names of their functions, as in
            `[(mailer, "send")]`. These have to be called as often, and with the same.

    Raises:
        Differs: it asked, did or returned something else, or failed in another way.
    """
    told: list[dict[str, Any]] = []
    last = Played([])
    for revision in (NEWEST_HANDSHAKE.date, SUPPORTED[0]):
        last = Played([])
        with watched(acts, lambda: 1) as done:
            await play_call(server, tool, arguments, answers, revision=revision, played=last)
        told.append(
            {
                "questions": last.questions,
                "result": _comparable(last.result),
                "error": last.error,
                "acts": counted(done),
            }
        )
    first, second = told
    for what, one in first.items():
        if one != second[what]:
            raise Differs(
                f"{tool}: {what} by requests: {one!r}\n{what} by rounds: {second[what]!r}"
            )
    return last


def _comparable(result: Message | None) -> Message | None:
    """A result as every revision has it: before the newest, structured content is an object."""
    if result is None or "structuredContent" not in result:
        return result
    structured = result["structuredContent"]
    is_object = isinstance(structured, dict)
    return {**result, "structuredContent": structured if is_object else {"result": structured}}


def _unstamped(result: Message) -> Message:
    """A result without what says how it was sent and by whom."""
    meta = {key: each for key, each in result.get("_meta", {}).items() if key != SERVER_INFO}
    rest = {key: each for key, each in result.items() if key not in ("resultType", "_meta")}
    return {**rest, "_meta": meta} if meta else rest
