"""Clients of both eras over stdio and HTTP, in this process, that hear what a server tells them."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Protocol

from toolhaft import Server

Json = dict[str, Any]
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
EVERYTHING = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
# For what should happen at once, on a machine that others use, too.
PATIENCE = 15


class Client(Protocol):
    """One client, whatever it speaks and over what."""

    heard: "asyncio.Queue[Json]"

    async def ask(self, method: str, **params: Any) -> Json:
        """The result, or the error, of a request."""
        ...

    async def follow(self, *uris: str) -> None:
        """Hear of all changes of lists, and of these resources."""
        ...


async def hears(client: Client) -> Json:
    """The next notification."""
    return await asyncio.wait_for(client.heard.get(), PATIENCE)


def outcome(answer: Json) -> Json:
    found: Json = answer["result"] if "result" in answer else answer["error"]
    return found


class _Pipe:
    """What `server.serve` writes to."""

    def __init__(self, hear: Callable[[Json], None]) -> None:
        self._hear = hear
        self._rest = b""

    def write(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._hear(json.loads(line))

    async def drain(self) -> None: ...


class Streams:
    """Over a pair of streams, as over stdio."""

    def __init__(self, *, stateless: bool) -> None:
        self.reader = asyncio.StreamReader()
        self.pipe = _Pipe(self._hear)
        self.heard: asyncio.Queue[Json] = asyncio.Queue()
        self._stateless = stateless
        self._ids = iter(range(1, 1000))
        self._waiting: dict[int, asyncio.Future[Json]] = {}

    def _hear(self, message: Json) -> None:
        if "method" in message:
            self.heard.put_nowait(message)
        else:
            self._waiting.pop(message["id"]).set_result(message)

    def send(self, message: Json) -> None:
        self.reader.feed_data(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _request(self, method: str, params: Json) -> "asyncio.Future[Json]":
        number = next(self._ids)
        self._waiting[number] = answer = asyncio.get_running_loop().create_future()
        meta = {"_meta": ENVELOPE} if self._stateless else {}
        self.send({"id": number, "method": method, "params": {**params, **meta}})
        return answer

    async def ask(self, method: str, **params: Any) -> Json:
        return outcome(await asyncio.wait_for(self._request(method, params), PATIENCE))

    async def open(self, hello: Json) -> None:
        if not self._stateless:
            await self.ask("initialize", **hello)
            self.send({"method": "notifications/initialized"})

    async def follow(self, *uris: str) -> None:
        if self._stateless:
            wishes = {**EVERYTHING, "resourceSubscriptions": list(uris)}
            self._request("subscriptions/listen", {"notifications": wishes})
            acknowledged = await hears(self)
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        else:
            for uri in uris:
                await self.ask("resources/subscribe", uri=uri)


@contextlib.asynccontextmanager
async def streams(
    server: Server, *, stateless: bool, hello: Json = HANDSHAKE
) -> AsyncGenerator[Streams]:
    client = Streams(stateless=stateless)
    serving = asyncio.create_task(server.serve(client.reader, client.pipe))
    await client.open(hello)
    yield client
    client.reader.feed_eof()
    await asyncio.wait_for(serving, PATIENCE)


class _Response:
    """What an application answers one request with."""

    def __init__(self, body: bytes, hear: Callable[[Json], None]) -> None:
        self._parts = iter([{"type": "http.request", "body": body, "more_body": False}])
        self._hear = hear
        self._rest = b""
        self.begun = asyncio.Event()
        self.headers: dict[str, str] = {}

    async def receive(self) -> Json:
        for part in self._parts:
            return part
        never: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        return await never

    async def send(self, event: Any) -> None:
        if event["type"] == "http.response.start":
            self.headers = {name.decode(): value.decode() for name, value in event["headers"]}
            self.begun.set()
            return
        self._rest += event.get("body", b"")
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            *events, self._rest = self._rest.split(b"\n\n")
            for each in events:
                data = [line[6:] for line in each.split(b"\n") if line[:6] == b"data: "]
                if data and data[0]:
                    self._hear(json.loads(b"\n".join(data)))
        elif not event.get("more_body") and self._rest:
            self._hear(json.loads(self._rest))


class Http:
    """Over HTTP, by an ASGI application without a socket."""

    def __init__(self, app: Any, *, stateless: bool) -> None:
        self._app = app
        self._stateless = stateless
        self._ids = iter(range(1, 1000))
        self._session: str | None = None
        self._streams: list[asyncio.Task[None]] = []
        self.heard: asyncio.Queue[Json] = asyncio.Queue()

    def _headers(self, verb: str, message: Json | None) -> dict[str, str]:
        accept = "application/json, text/event-stream" if verb == "POST" else "text/event-stream"
        headers = {"host": "localhost", "accept": accept, "content-type": "application/json"}
        if self._session is not None:
            headers["mcp-session-id"] = self._session
        if self._stateless and message is not None:
            headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": message["method"]}
            about = message["params"].get("name") or message["params"].get("uri")
            if about is not None:
                headers["mcp-name"] = about
        return headers

    def _http(
        self, verb: str, message: Json | None, hear: Callable[[Json], None]
    ) -> tuple[_Response, Coroutine[Any, Any, None]]:
        body = b"" if message is None else json.dumps({"jsonrpc": "2.0", **message}).encode()
        headers = self._headers(verb, message)
        scope = {
            "type": "http",
            "method": verb,
            "path": "/mcp",
            "raw_path": b"/mcp",
            "query_string": b"",
            "root_path": "",
            "scheme": "http",
            "http_version": "1.1",
            "server": ("localhost", 80),
            "client": ("127.0.0.1", 1),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        response = _Response(body, hear)
        return response, self._app(scope, response.receive, response.send)

    async def _stream(self, verb: str, message: Json | None) -> None:
        response, answering = self._http(verb, message, self.heard.put_nowait)
        self._streams.append(asyncio.create_task(answering))
        await asyncio.wait_for(response.begun.wait(), PATIENCE)

    async def _request(self, method: str, params: Json) -> tuple[Json, dict[str, str]]:
        answers: list[Json] = []
        meta = {"_meta": ENVELOPE} if self._stateless else {}
        message = {"id": next(self._ids), "method": method, "params": {**params, **meta}}
        response, answering = self._http("POST", message, answers.append)
        await asyncio.wait_for(answering, PATIENCE)
        return answers[-1], response.headers

    async def ask(self, method: str, **params: Any) -> Json:
        answer, _ = await self._request(method, params)
        return outcome(answer)

    async def open(self) -> None:
        if not self._stateless:
            _, headers = await self._request("initialize", HANDSHAKE)
            self._session = headers["mcp-session-id"]
            notice = {"method": "notifications/initialized", "params": {}}
            _, answering = self._http("POST", notice, lambda _: None)
            await asyncio.wait_for(answering, PATIENCE)

    async def follow(self, *uris: str) -> None:
        if self._stateless:
            wishes = {**EVERYTHING, "resourceSubscriptions": list(uris)}
            params = {"notifications": wishes, "_meta": ENVELOPE}
            message = {"id": "all", "method": "subscriptions/listen", "params": params}
            await self._stream("POST", message)
            acknowledged = await hears(self)
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        else:
            for uri in uris:
                await self.ask("resources/subscribe", uri=uri)
            await self._stream("GET", None)

    async def close(self) -> None:
        for stream in self._streams:
            stream.cancel()
        await asyncio.gather(*self._streams, return_exceptions=True)


@contextlib.asynccontextmanager
async def http(server: Server, *, stateless: bool) -> AsyncGenerator[Client]:
    app = server.asgi()
    events: asyncio.Queue[Json] = asyncio.Queue()
    said: asyncio.Queue[Json] = asyncio.Queue()
    events.put_nowait({"type": "lifespan.startup"})
    living = asyncio.create_task(app({"type": "lifespan"}, events.get, said.put))
    await asyncio.wait_for(said.get(), PATIENCE)
    client = Http(app, stateless=stateless)
    await client.open()
    yield client
    await client.close()
    events.put_nowait({"type": "lifespan.shutdown"})
    await asyncio.wait_for(living, PATIENCE)


Connect = Callable[[Server], "contextlib.AbstractAsyncContextManager[Client]"]
CLIENTS: dict[str, Connect] = {
    "stdio 2025": lambda server: streams(server, stateless=False),
    "stdio 2026": lambda server: streams(server, stateless=True),
    "http 2025": lambda server: http(server, stateless=False),
    "http 2026": lambda server: http(server, stateless=True),
}
