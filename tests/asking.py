"""How tests look at single answers, just as they were sent: by the client of the kit."""

from typing import Any

from toolhaft import Server
from toolhaft.testing import Client, requests

Json = dict[str, Any]
NEW, OLD = "2026-07-28", "2025-11-25"


async def answer_to(client: Client, method: str, /, **params: Any) -> Json:
    """The whole answer to a request of an open client."""
    answer: Json = await client.raw(client.requests.request(method, params))
    return answer


async def told(client: Client, method: str, /, **params: Any) -> Json:
    """The result of a request of an open client, or its error."""
    answer = await answer_to(client, method, **params)
    found: Json = answer["result"] if "result" in answer else answer["error"]
    return found


async def ask(server: Server, method: str, /, *, revision: str = NEW, **params: Any) -> Json:
    """The whole answer to one request, of a client that cannot be asked anything."""
    async with Client(server, revision, capabilities={}) as client:
        return await answer_to(client, method, **params)


async def outcome(server: Server, method: str, /, *, revision: str = NEW, **params: Any) -> Json:
    """The result of one request, or its error."""
    async with Client(server, revision, capabilities={}) as client:
        return await told(client, method, **params)


async def handled(server: Server, method: str, /, **params: Any) -> Json:
    """The whole answer to one message that comes without a client, for tests that count them."""
    answer = await server.handle(requests.of(NEW).request(method, params))
    assert answer is not None
    return answer


async def handled_call(server: Server, name: str, /, **arguments: Any) -> Json:
    """The same for a call of a tool."""
    return await handled(server, "tools/call", name=name, arguments=arguments)


class OneTool:
    """A server with one tool, as a client of one revision sees it."""

    def __init__(self, server: Server, revision: str = NEW) -> None:
        self._server = server
        self._revision = revision

    async def ask(self, method: str, **params: Any) -> Json:
        """The whole answer."""
        return await ask(self._server, method, revision=self._revision, **params)

    async def tool(self) -> Json:
        """The tool as it is listed."""
        [tool] = (await self.ask("tools/list"))["result"]["tools"]
        return dict(tool)

    async def call(self, **arguments: Any) -> Json:
        """What the tool answers."""
        name = (await self.tool())["name"]
        return dict((await self.ask("tools/call", name=name, arguments=arguments))["result"])

    async def data(self, **arguments: Any) -> Any:
        """The structured content of a call that goes well."""
        result = await self.call(**arguments)
        assert "isError" not in result, result["content"]
        return result["structuredContent"]

    async def text(self, **arguments: Any) -> Any:
        """The text of a call that goes well."""
        result = await self.call(**arguments)
        assert "isError" not in result, result["content"]
        assert "structuredContent" not in result
        return result["content"][0]["text"]

    async def failure(self, **arguments: Any) -> str:
        """The text of a call that fails."""
        result = await self.call(**arguments)
        assert result.get("isError") is True, result
        return str(result["content"][0]["text"])
