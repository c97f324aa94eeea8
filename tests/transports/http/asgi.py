"""A client of ASGI applications, in memory: it says what a server would, and hears what they send.

Nothing here sleeps: whoever waits, waits for a message of the application. The bounds on waiting
are there only so that a test that fails does not hang.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

Message = MutableMapping[str, Any]
App = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]

LONGEST_WAIT = 20.0
ACCEPT = "application/json, text/event-stream"
STATELESS = "2026-07-28"
ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Answer(NamedTuple):
    """A whole response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> int:
        """Of the error."""
        code: int = self.json["error"]["code"]
        return code

    @property
    def text(self) -> str:
        """What a tool said."""
        text: str = self.json["result"]["content"][0]["text"]
        return text

    @property
    def is_stream(self) -> bool:
        return self.headers["content-type"] == "text/event-stream"

    @property
    def events(self) -> list["Event"]:
        return [parsed(block) for block in self.body.decode().split("\n\n") if block]

    @property
    def messages(self) -> list[Any]:
        return [event.message for event in self.events if event.data]


class Event(NamedTuple):
    """One block of a stream."""

    id: str | None = None
    name: str | None = None
    data: str | None = None
    retry: str | None = None
    comment: str | None = None

    @property
    def message(self) -> Any:
        assert self.data, f"no message: {self}"
        return json.loads(self.data)


def parsed(block: str) -> Event:
    """A block of lines, as the standard of server-sent events reads it."""
    fields: dict[str, str] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        fields[{"event": "name", "": "comment"}.get(name, name)] = value.removeprefix(" ")
    return Event(**fields)


class Exchange:
    """One request, from its first byte to the end of its answer."""

    def __init__(self, app: App, scope: Message) -> None:
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._came = asyncio.Condition()
        self._reads = asyncio.Event()
        self._reads.set()
        self._buffer = b""
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.body = b""
        # The application has sent the last of it.
        self.complete = False
        self._task = asyncio.ensure_future(self._run(app, scope))

    async def _run(self, app: App, scope: Message) -> None:
        try:
            await app(scope, self._inbox.get, self._send)
        finally:
            async with self._came:
                self._came.notify_all()

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            assert self.status is None, "a response begins once"
            self.status = message["status"]
            pairs = [(name.decode(), value.decode()) for name, value in message["headers"]]
            self.headers = dict(pairs)
            assert len(self.headers) == len(pairs), f"a header was sent twice: {pairs}"
        else:
            assert self.status is not None, "a response begins with its status"
            assert not self.complete, "nothing comes after the end"
            await self._reads.wait()
            self.body += message.get("body", b"")
            self._buffer += message.get("body", b"")
            self.complete = not message.get("more_body", False)
        async with self._came:
            self._came.notify_all()

    # What the client does

    def feed(self, part: bytes, *, more: bool = False) -> None:
        """Send a part of the body."""
        self._inbox.put_nowait({"type": "http.request", "body": part, "more_body": more})

    def disconnect(self) -> None:
        """Leave, without waiting for the rest."""
        self._inbox.put_nowait({"type": "http.disconnect"})

    def stop_reading(self) -> None:
        """Stay, and take nothing any more."""
        self._reads.clear()

    # What it waits for

    async def _until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(LONGEST_WAIT), self._came:
            await self._came.wait_for(lambda: true() or self._task.done())

    async def begun(self) -> int:
        """The status."""
        await self._until(lambda: self.status is not None)
        await self._check()
        assert self.status is not None, "there was no answer"
        return self.status

    async def event(self) -> Event:
        """The next event of a stream that has not ended."""
        await self._until(lambda: b"\n\n" in self._buffer)
        await self._check()
        assert b"\n\n" in self._buffer, f"the stream has ended: {self.status} {self.body!r}"
        block, _, self._buffer = self._buffer.partition(b"\n\n")
        return parsed(block.decode())

    async def message(self) -> Any:
        """The message of the next event that has one."""
        while True:
            event = await self.event()
            if event.data:
                return event.message

    async def answer(self) -> Answer:
        """All of it."""
        await self.ended()
        assert self.complete, f"the response was left without an end: {self.status} {self.body!r}"
        assert self.status is not None
        return Answer(self.status, self.headers, self.body)

    async def ended(self) -> None:
        """The application is done with the request."""
        async with asyncio.timeout(LONGEST_WAIT):
            await asyncio.shield(self._task)

    async def _check(self) -> None:
        if self._task.done():
            await self._task


class Client:
    """Somebody with an address book of one entry."""

    def __init__(self, app: App, path: str = "/mcp", **headers: str) -> None:
        self.app = app
        self.path = path
        self.headers = {"host": "127.0.0.1:8000", **_dashed(headers)}

    def begin(self, verb: str, headers: Mapping[str, str], *, path: str | None = None) -> Exchange:
        """Send the head of a request."""
        fields = {**self.headers, **headers}
        return self.begin_raw(verb, [(k.encode(), v.encode()) for k, v in fields.items()], path)

    def begin_raw(
        self, verb: str, fields: list[tuple[bytes, bytes]], path: str | None = None
    ) -> Exchange:
        """The same, with headers as they are."""
        path = self.path if path is None else path
        return Exchange(
            self.app,
            {
                "type": "http",
                "asgi": {"version": "3.0", "spec_version": "2.3"},
                "http_version": "1.1",
                "scheme": "http",
                "method": verb,
                "path": path,
                "raw_path": path.encode(),
                "query_string": b"",
                "root_path": "",
                "headers": fields,
                "client": ("127.0.0.1", 54321),
                "server": ("127.0.0.1", 8000),
            },
        )

    def open(self, verb: str, body: Any = None, **headers: str | None) -> Exchange:
        """Send a request, and wait for nothing. A header of None is not sent."""
        data = body if isinstance(body, bytes) else b"" if body is None else encoded(body)
        sent = {"accept": ACCEPT, **_dashed(headers)}
        if verb == "POST":
            length = str(len(data))
            sent = {"content-type": "application/json", "content-length": length, **sent}
        exchange = self.begin(verb, {k: v for k, v in sent.items() if v is not None})
        exchange.feed(data)
        return exchange

    async def request(self, verb: str, body: Any = None, **headers: str | None) -> Answer:
        """Send a request, and wait for the whole answer."""
        return await self.open(verb, body, **headers).answer()

    async def post(self, body: Any, **headers: str | None) -> Answer:
        """A message, as it is."""
        return await self.request("POST", body, **headers)


class StatelessClient(Client):
    """One that says in each request who it is."""

    def start(self, method: str, /, *, id: Any = 1, meta: Any = None, **params: Any) -> Exchange:
        """Send a request, and wait for nothing."""
        body = request(id, method, **params, _meta={**ENVELOPE, **(meta or {})})
        return self.open("POST", body, **mirrored(method, params))

    async def ask(self, method: str, /, **more: Any) -> Answer:
        """Send a request, and wait for the whole answer."""
        return await self.start(method, **more).answer()

    def start_tool(self, name: str, /, *, id: Any = 1, meta: Any = None, **given: Any) -> Exchange:
        """Begin to call a tool."""
        return self.start("tools/call", id=id, meta=meta, name=name, arguments=given)

    async def tool(self, name: str, /, **more: Any) -> Answer:
        """Call a tool."""
        return await self.start_tool(name, **more).answer()


class SessionClient(Client):
    """One that shakes hands."""

    revision = "2025-11-25"
    session: str | None = None

    async def shake(self, revision: str = "2025-11-25", **capabilities: Any) -> Answer:
        """Begin with `initialize`."""
        answer = await self.post(initialize(revision, **capabilities))
        assert answer.status == 200, answer
        self.revision = answer.json["result"]["protocolVersion"]
        self.session = answer.headers.get("mcp-session-id")
        return answer

    @property
    def own(self) -> dict[str, str]:
        """The headers of each request after the handshake."""
        session = {} if self.session is None else {"mcp_session_id": self.session}
        return {"mcp_protocol_version": self.revision, **session}

    def start(self, method: str, /, *, id: Any = 1, meta: Any = None, **params: Any) -> Exchange:
        """Send a request, and wait for nothing."""
        if meta is not None:
            params["_meta"] = meta
        return self.open("POST", request(id, method, **params), **self.own)

    async def ask(self, method: str, /, **more: Any) -> Answer:
        """Send a request, and wait for the whole answer."""
        return await self.start(method, **more).answer()

    def start_tool(self, name: str, /, *, id: Any = 1, meta: Any = None, **given: Any) -> Exchange:
        """Begin to call a tool."""
        return self.start("tools/call", id=id, meta=meta, name=name, arguments=given)

    async def tool(self, name: str, /, **more: Any) -> Answer:
        """Call a tool."""
        return await self.start_tool(name, **more).answer()

    async def tell(self, method: str, /, **params: Any) -> Answer:
        """Send a notification."""
        body = {"jsonrpc": "2.0", "method": method, "params": params}
        return await self.post(body, **self.own)

    def listen(self, **headers: str) -> Exchange:
        """Open the stream of news, or go on with another one."""
        return self.open("GET", **self.own, accept="text/event-stream", **headers)

    async def end(self) -> Answer:
        """End the session."""
        return await self.request("DELETE", **self.own)


def request(id: Any, method: str, /, **params: Any) -> dict[str, Any]:
    """A request of JSON-RPC."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def initialize(revision: str = "2025-11-25", /, id: Any = 0, **capabilities: Any) -> dict[str, Any]:
    """The request that begins a session."""
    client = {"name": "tester", "version": "1"}
    return request(
        id, "initialize", protocolVersion=revision, capabilities=capabilities, clientInfo=client
    )


def mirrored(method: str, params: Mapping[str, Any]) -> dict[str, str]:
    """The headers that repeat what the body says."""
    headers = {"mcp_protocol_version": STATELESS, "mcp_method": method}
    if method in _NAMED:
        headers["mcp_name"] = params[_NAMED[method]]
    return headers


def word(message: Any) -> str:
    """What a step said, or the result."""
    if "result" in message:
        text: str = message["result"]["content"][0]["text"]
        return text
    told: str = message["params"]["message"]
    return told


def encoded(body: Any) -> bytes:
    return json.dumps(body).encode()


def _dashed(headers: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@asynccontextmanager
async def lifespan(app: App) -> Any:
    """What a host does that runs lifespans. The value is what the application said at its start."""
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    outbox: asyncio.Queue[Message] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    task = asyncio.ensure_future(app(scope, inbox.get, outbox.put))
    async with asyncio.timeout(LONGEST_WAIT):
        inbox.put_nowait({"type": "lifespan.startup"})
        started = await outbox.get()
    yield started
    async with asyncio.timeout(LONGEST_WAIT):
        inbox.put_nowait({"type": "lifespan.shutdown"})
        if started["type"] == "lifespan.startup.complete":
            assert (await outbox.get())["type"] == "lifespan.shutdown.complete"
        await task
