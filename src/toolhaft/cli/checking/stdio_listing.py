"""The target as a client meets it: served over stdio by `toolhaft run`, asked in both eras."""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from ...about import __version__
from ...client.failures import BadAnswer
from ...client.json_shapes import as_object
from ...client.request_meta import envelope, opening
from ...client.responses import entries_of, result_of
from ...protocol.revisions import NEWEST_HANDSHAKE, REVISIONS, SUPPORTED
from ...protocol.stateless import SERVER_INFO
from ...testing.results import converted
from ...types.prompts import Prompt
from ...types.resources import Resource, ResourceTemplate
from ...types.tools import Tool

Json: TypeAlias = dict[str, Any]

_CLIENT = {"name": "toolhaft check", "version": __version__}
_A_LINE = 64 * 1024 * 1024
_GRACE = 5.0
_A_MOMENT = 0.01
_SECONDS_TO_DRAIN = 0.5
# By what they are called here: the capability, the request, the member of its result, and what is
# in that.
_LISTS: dict[str, tuple[str, str, str, type[Any]]] = {
    "tools": ("tools", "tools/list", "tools", Tool),
    "resources": ("resources", "resources/list", "resources", Resource),
    "templates": ("resources", "resources/templates/list", "resourceTemplates", ResourceTemplate),
    "prompts": ("prompts", "prompts/list", "prompts", Prompt),
}


class Client:
    """Asks one thing after the other."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._last_id = 0
        self.begun = time.perf_counter()
        # Seconds until the first answer; what was said on stderr meanwhile.
        self.first_answer = 0.0
        self.said: list[str] = []
        # Has its stdout been closed?
        self.has_ended = False
        self._listening = asyncio.create_task(self._listen())

    async def request(self, method: str, params: Json, *, handshake: bool = False) -> Json:
        """Ask, and wait for the result.

        Raises:
            McpError: the server refuses.
            BadAnswer: it does not answer as the protocol says.
        """
        self._last_id = id_ = self._last_id + 1
        if not handshake:
            params = {**params, "_meta": envelope(REVISIONS[SUPPORTED[0]], {}, _CLIENT)}
        await self.send({"id": id_, "method": method, "params": params})
        while True:
            message = await self._next(method)
            if message.get("id") == id_ and "method" not in message:
                break
        self.first_answer = self.first_answer or time.perf_counter() - self.begun
        return result_of(message, method)

    async def send(self, message: Json) -> None:
        """Send a message."""
        assert self._process.stdin is not None
        text = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
        self._process.stdin.write(text.encode() + b"\n")
        with contextlib.suppress(ConnectionError):
            await self._process.stdin.drain()

    async def _next(self, method: str) -> Json:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            self.has_ended = True
            await asyncio.wait([self._listening], timeout=_GRACE)
            told = "".join(self.said).strip()
            raise BadAnswer(f"the server ended before it answered {method}\n{told}".strip())
        try:
            message: Any = json.loads(line)
        except ValueError:
            raise BadAnswer(f"the server wrote what is no message: {line[:80]!r}") from None
        if not isinstance(message, dict):
            raise BadAnswer(f"the server wrote what is no message: {line[:80]!r}")
        return message  # pyright: ignore[reportUnknownVariableType]

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self.said.append(line.decode("utf-8", "replace"))

    async def close(self) -> None:
        """End our side, and wait until the server has ended its own."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._ended(), _GRACE)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._ended()
        # What it said last is read, unless a process that it has started holds the pipe.
        await asyncio.wait([self._listening], timeout=_SECONDS_TO_DRAIN)
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        # A process has no way of its own to let go of pipes that are still open.
        vars(self._process)["_transport"].close()
        await asyncio.sleep(0)  # for the transports of the pipes to be closed

    async def _ended(self) -> None:
        """`Process.wait` waits for its pipes too, which others may hold."""
        while self._process.returncode is None:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(_A_MOMENT)


@asynccontextmanager
async def served(target: str) -> AsyncGenerator[Client]:
    """A client of the target, which runs as long as the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "toolhaft", "run", target,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_A_LINE,
    )  # fmt: skip
    client = Client(process)
    try:
        yield client
    finally:
        await client.close()


async def listed_without_handshake(client: Client) -> Json:
    """What is listed in the newest revision."""
    found = await client.request("server/discover", {})
    info: Json = {}
    if "_meta" in found:
        meta = _object_in(found, "_meta", "server/discover")
        info = _object_in(meta, SERVER_INFO, "server/discover") if SERVER_INFO in meta else {}
    lists = await _lists(
        client, _object_in(found, "capabilities", "server/discover"), handshake=False
    )
    return {"server": info, "instructions": found.get("instructions", ""), **lists}


async def listed_after_handshake(client: Client) -> Json:
    """What is listed in the newest revision with a handshake."""
    params = opening(NEWEST_HANDSHAKE, {}, _CLIENT)
    found = await client.request("initialize", params, handshake=True)
    await client.send({"method": "notifications/initialized"})
    info = _object_in(found, "serverInfo", "initialize")
    lists = await _lists(client, _object_in(found, "capabilities", "initialize"), handshake=True)
    return {"server": info, "instructions": found.get("instructions", ""), **lists}


async def _lists(client: Client, capabilities: Any, *, handshake: bool) -> Json:
    return {
        name: await _pages(client, method, member, kind, handshake=handshake)
        if capability in capabilities
        else []
        for name, (capability, method, member, kind) in _LISTS.items()
    }


async def _pages(
    client: Client, method: str, member: str, kind: type[Any], *, handshake: bool
) -> list[Json]:
    page = await client.request(method, {}, handshake=handshake)
    entries = entries_of(page, method, member)
    seen: set[str] = set()
    while "nextCursor" in page:
        cursor = page["nextCursor"]
        if not isinstance(cursor, str):
            raise BadAnswer(f"{method}: the server's nextCursor is no text: {cursor!r:.200}")
        if cursor in seen:
            raise BadAnswer(f"{method} gives the cursor {cursor!r} twice, so its pages never end")
        seen.add(cursor)
        page = await client.request(method, {"cursor": cursor}, handshake=handshake)
        entries += entries_of(page, method, member)
    for entry in entries:
        converted(entry, kind, method)
    return entries


def _object_in(result: Json, member: str, method: str) -> Json:
    found = as_object(result.get(member))
    if found is None:
        raise BadAnswer(f"{method}: the server's result has no object {member!r}: {result!r:.200}")
    return found
