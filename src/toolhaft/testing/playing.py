"""Play one call against a server in memory, and answer whatever it asks."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import msgspec

from ..features.asking import Accepted, Cancelled, Declined
from ..protocol.revisions import NEWEST_HANDSHAKE, SUPPORTED
from ..runtime.connection import Connection
from ..runtime.service import connected
from ..server import Server

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
    return await play_request(
        server,
        "tools/call",
        {"name": tool, "arguments": dict(arguments or {})},
        answers=answers,
        revision=revision,
    )


async def play_request(
    server: Server, method: str, params: Message, *, answers: Answers | None, revision: str
) -> Played:
    """The same for any request."""
    frames: asyncio.Queue[bytes] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def send(frame: bytes) -> None:
        loop.call_soon_threadsafe(frames.put_nowait, frame)

    async with connected(server, send) as connection:
        player = _Player(connection, frames, answers or {})
        async with asyncio.timeout(_PATIENCE):
            if revision == SUPPORTED[0]:
                return await player.by_rounds(method, params, revision)
            return await player.by_requests(method, params, revision)


async def in_both_eras(
    server: Server,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    answers: Answers | None = None,
) -> Played:
    """Call a tool by requests of ours and by rounds; how it went, if that was the same.

    Raises:
        Differs: it asked, returned or failed in another way.
    """
    first, second = [
        await play(server, tool, arguments, answers=answers, revision=revision)
        for revision in (NEWEST_HANDSHAKE.date, SUPPORTED[0])
    ]
    for what in ("questions", "result", "error"):
        one, other = getattr(first, what), getattr(second, what)
        if one != other:
            raise Differs(f"{tool}: {what} by requests: {one!r}\n{what} by rounds: {other!r}")
    return second


class _Player:
    """A client."""

    def __init__(
        self, connection: Connection, frames: "asyncio.Queue[bytes]", answers: Answers
    ) -> None:
        self._connection = connection
        self._frames = frames
        self._answers = answers
        self._played = Played([])

    async def by_requests(self, method: str, params: Message, revision: str) -> Played:
        opening = {
            "protocolVersion": revision,
            "capabilities": CAPABILITIES,
            "clientInfo": _CLIENT,
        }
        self._request(0, "initialize", opening)
        await self._next(0)
        self._request(1, method, params)
        return self._end(await self._next(1))

    async def by_rounds(self, method: str, params: Message, revision: str) -> Played:
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
                return self._end(answer)
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

    def _end(self, answer: Message) -> Played:
        result: Message | None = answer.get("result")
        if result is not None:
            result = {key: each for key, each in result.items() if key in ("content", "isError")}
        self._played.result, self._played.error = result, answer.get("error")
        return self._played


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
