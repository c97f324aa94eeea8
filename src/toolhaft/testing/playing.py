"""Play one call against a server in memory, and answer whatever it asks."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import msgspec

from ..features.asking import Accepted, Cancelled, Declined
from ..protocol.revisions import NEWEST_HANDSHAKE, SUPPORTED
from ..protocol.stateless import SERVER_INFO
from ..runtime.connection import Connection
from ..runtime.service import connected
from ..server import Server
from .watching import Acts, counted, watched

CAPABILITIES: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}},
    "roots": {},
}
_CLIENT = {"name": "toolhaft.testing", "version": "1"}
_META = "io.modelcontextprotocol/"
_PATIENCE = 60

Message: TypeAlias = dict[str, Any]
# By what the question says, or a function of its method and its params.
Answers: TypeAlias = Mapping[str, Any] | Callable[[str, Message], Any]


class Unanswered(AssertionError):
    """A call asks what the test has no answer for."""


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
        answers: by the message of a question, or by its method; or a function that is given both
            method and params. A value is accepted; `Declined()` and `Cancelled()` are not; a dict
            with an `action`, a `model` or `roots` is sent as it is.

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
    params = {"name": tool, "arguments": dict(arguments or {})}
    frames: asyncio.Queue[bytes] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def send(frame: bytes) -> None:
        loop.call_soon_threadsafe(frames.put_nowait, frame)

    async with connected(server, send) as connection:
        player = _Player(connection, frames, answers or {}, played)
        async with asyncio.timeout(_PATIENCE):
            if revision == SUPPORTED[0]:
                await player.by_rounds("tools/call", params, revision)
            else:
                await player.by_requests("tools/call", params, revision)


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


class _Player:
    """A client."""

    def __init__(
        self,
        connection: Connection,
        frames: "asyncio.Queue[bytes]",
        answers: Answers,
        played: Played,
    ) -> None:
        self._connection = connection
        self._frames = frames
        self._answers = answers
        self._played = played

    async def by_requests(self, method: str, params: Message, revision: str) -> None:
        opening = {
            "protocolVersion": revision,
            "capabilities": CAPABILITIES,
            "clientInfo": _CLIENT,
        }
        self._request(0, "initialize", opening)
        await self._next(0)
        self._request(1, method, params)
        self._end(await self._next(1))

    async def by_rounds(self, method: str, params: Message, revision: str) -> None:
        meta = {
            f"{_META}protocolVersion": revision,
            f"{_META}clientCapabilities": CAPABILITIES,
            f"{_META}clientInfo": _CLIENT,
        }
        more: Message = {}
        while True:
            self._request(self._played.rounds, method, {**params, **more, "_meta": meta})
            answer = await self._next(self._played.rounds)
            result = answer.get("result", {})
            if result.get("resultType") != "input_required":
                self._end(answer)
                return
            requests: dict[str, Message] = result["inputRequests"]
            more = {
                "inputResponses": {key: self._answer(each) for key, each in requests.items()},
                "requestState": result["requestState"],
            }
            self._played.rounds += 1

    def _request(self, id_: int, method: str, params: Message) -> None:
        self._send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})

    def _send(self, message: Message) -> None:
        self._connection.receive(msgspec.json.encode(message))

    async def _next(self, id_: int) -> Message:
        """The answer to a request; what is asked meanwhile is answered."""
        while True:
            message: Message = msgspec.json.decode(await self._frames.get())
            if "method" in message and "id" in message:
                result = self._answer(message)
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            elif message.get("id") == id_ and "method" not in message:
                return message

    def _answer(self, request: Message) -> Message:
        method, params = request["method"], request.get("params", {})
        params = {name: each for name, each in params.items() if name != "elicitationId"}
        question = {"method": method, "params": params}
        if question not in self._played.questions:
            self._played.questions.append(question)
        return _wire(self._found(method, params))

    def _found(self, method: str, params: Message) -> Any:
        if callable(self._answers):
            return self._answers(method, params)
        for name in (params.get("message", method), method):
            if name in self._answers:
                return self._answers[name]
        raise Unanswered(f"no answer to {method}: {params.get('message', params)!r}")

    def _end(self, answer: Message) -> None:
        result: Message | None = answer.get("result")
        self._played.result = None if result is None else _unstamped(result)
        self._played.error = answer.get("error")


def _unstamped(result: Message) -> Message:
    """A result without what says how it was sent and by whom."""
    meta = {key: each for key, each in result.get("_meta", {}).items() if key != SERVER_INFO}
    rest = {key: each for key, each in result.items() if key not in ("resultType", "_meta")}
    return {**rest, "_meta": meta} if meta else rest


def _wire(answer: Any) -> Message:
    if isinstance(answer, Declined | Cancelled):
        return {"action": "decline" if isinstance(answer, Declined) else "cancel"}
    value: Any = cast(Any, answer).value if isinstance(answer, Accepted) else answer
    plain: Any = msgspec.to_builtins(value)
    if not isinstance(plain, dict):
        return {"action": "accept", "content": {"value": plain}}
    content = cast(Message, plain)
    is_whole = not content.keys().isdisjoint(("action", "model", "roots"))
    return content if is_whole else {"action": "accept", "content": content}
