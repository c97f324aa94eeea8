"""Clients in memory, and functions of every form to be called."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from typing import Any

import pytest
from tests.asking import answer_to

from toolhaft import Depends, Server
from toolhaft.calls.connection import Connection
from toolhaft.calls.output import Sink
from toolhaft.calls.service import connected
from toolhaft.testing import Client

PATIENCE = 5


FORMS = ["plain", "async", "generator", "async generator"]


ways = pytest.mark.parametrize(
    "options",
    [{}, {"timeout": 30}, {"limit": 3}, {"timeout": 30, "limit": 1}, {"thread": False}],
    ids=str,
)


class Caller:
    """A client by hand, in memory: for the order of messages, and for those that must not come."""

    def __init__(self, connection: Connection, *, in_a_task: bool = False) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._in_a_task = in_a_task
        self._changed = asyncio.Event()
        self.messages: list[dict[str, Any]] = []

    def heard(self, frame: bytes) -> None:
        self._loop.call_soon_threadsafe(self._take, json.loads(frame))

    def _take(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        self._changed.set()

    def send(self, message: dict[str, Any]) -> None:
        frame = json.dumps({"jsonrpc": "2.0", **message}).encode()
        if self._in_a_task:
            self._connection.receive(frame)
        else:
            self._loop.call_soon(self._connection.receive, frame)

    def request(
        self, id_: object, method: str, params: dict[str, Any], token: object = None
    ) -> None:
        if token is not None:
            params = {**params, "_meta": {"progressToken": token}}
        self.send({"id": id_, "method": method, "params": params})

    def call(self, id_: object, name: str = "it", /, *, token: object = None, **given: Any) -> None:
        self.request(id_, "tools/call", {"name": name, "arguments": given}, token)

    def begin(self, id_: object, kind: str) -> None:
        """Ask for the one thing of this kind that the server has."""
        if kind == "tool":
            self.call(id_)
        elif kind == "resource":
            self.request(id_, "resources/read", {"uri": "it://it"})
        else:
            self.request(id_, "prompts/get", {"name": "it"})

    def cancel(self, id_: object) -> None:
        self.send({"method": "notifications/cancelled", "params": {"requestId": id_}})

    async def until(self, found: Callable[[], Any]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while not (result := found()):
                self._changed.clear()
                await self._changed.wait()
            return result

    def answers(self, id_: object) -> list[dict[str, Any]]:
        return [each for each in self.messages if each.get("id") == id_ and "method" not in each]

    async def answer(self, id_: object) -> dict[str, Any]:
        found: list[dict[str, Any]] = await self.until(lambda: self.answers(id_))
        return found[0]

    async def ask(self, id_: object, name: str = "it", /, **given: Any) -> dict[str, Any]:
        self.call(id_, name, **given)
        return await self.answer(id_)

    async def is_alive(self) -> None:
        self.send({"id": "alive", "method": "ping"})
        await self.answer("alive")

    def progress(self) -> list[tuple[float, str | None]]:
        found = [
            each["params"]
            for each in self.messages
            if each.get("method") == "notifications/progress"
        ]
        return [(each["progress"], each.get("message")) for each in found]


@contextlib.asynccontextmanager
async def caller_of(server: Server, *, in_a_task: bool = False) -> AsyncIterator[Caller]:
    clients: list[Caller] = []
    async with connected(server, Sink(lambda frame: clients[0].heard(frame))) as connection:
        clients.append(Caller(connection, in_a_task=in_a_task))
        info = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        clients[0].request("init", "initialize", params)
        await clients[0].answer("init")
        clients[0].send({"method": "notifications/initialized"})
        yield clients[0]


async def asked(client: Client, name: str = "it", /, **given: Any) -> dict[str, Any]:
    """The whole answer to a call."""
    return await answer_to(client, "tools/call", name=name, arguments=given)


async def asked_for(client: Client, kind: str) -> dict[str, Any]:
    """The whole answer to a request for the one thing of this kind that the server has."""
    if kind == "tool":
        return await asked(client)
    if kind == "resource":
        return await answer_to(client, "resources/read", uri="it://it")
    return await answer_to(client, "prompts/get", name="it")


class Told:
    """What functions say, from any thread, and the test waits for."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self.all: list[Any] = []

    def __call__(self, what: Any) -> None:
        self.all.append(what)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._queue.put_nowait, what)

    async def next(self) -> Any:
        return await asyncio.wait_for(self._queue.get(), PATIENCE)


def add(server: Server, kind: str, function: Callable[..., Any], **options: Any) -> None:
    if kind == "tool":
        server.add_tool(function, name="it", **options)
    elif kind == "resource":
        server.add_resource(function, "it://it", name="it", **options)
    else:
        server.add_prompt(function, name="it", **options)


def text_in(answer: dict[str, Any]) -> str:
    """The one text of whatever was answered."""
    assert "result" in answer, answer
    result = answer["result"]
    if "messages" in result:
        [message] = result["messages"]
        text: str = message["content"]["text"]
        return text
    [block] = result.get("content") or result["contents"]
    text = block["text"]
    return text


def failure_in(answer: dict[str, Any]) -> str:
    """The words of a call that failed."""
    if "error" in answer:
        message: str = answer["error"]["message"]
        return message
    assert answer["result"]["isError"] is True
    return text_in(answer)


def maker(form: str, told: Callable[[Any], None], name: str = "dependency") -> Callable[..., Any]:
    """A dependency that tells of its beginning and its end."""

    def plain() -> str:
        told(f"{name} made")
        return name

    async def waits() -> str:
        await asyncio.sleep(0)
        return plain()

    def generator() -> Generator[str]:
        try:
            yield plain()
        except BaseException as error:
            told(f"{name} saw {type(error).__name__}")
            raise
        finally:
            told(f"{name} left")

    async def async_generator() -> AsyncGenerator[str]:
        await asyncio.sleep(0)
        try:
            yield plain()
        except BaseException as error:
            told(f"{name} saw {type(error).__name__}")
            raise
        finally:
            await asyncio.sleep(0)
            told(f"{name} left")

    return dict(zip(FORMS, (plain, waits, generator, async_generator), strict=True))[form]


def taker(form: str, dependency: Callable[..., Any], told: Callable[[Any], None]) -> Any:
    """A function that is given what a dependency makes."""

    def plain(value: str = Depends(dependency)) -> str:
        told("called")
        return f"got {value}"

    async def waits(value: str = Depends(dependency)) -> str:
        await asyncio.sleep(0)
        return plain(value)

    def generator(value: str = Depends(dependency)) -> Generator[str]:
        yield "first"
        yield plain(value)

    async def async_generator(value: str = Depends(dependency)) -> AsyncGenerator[str]:
        yield "first"
        await asyncio.sleep(0)
        yield plain(value)

    return dict(zip(FORMS, (plain, waits, generator, async_generator), strict=True))[form]
