"""The clients of `clients.py`, against servers that are processes of their own."""

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx2
from tests.http_process.web import Site, by_command
from tests.providing.clients import HANDSHAKE, PATIENCE, Client, Http, Json, Streams

ROOT = Path(__file__).parents[2]


class _Pipes(Streams):
    """Over the pipes of a process."""

    def __init__(self, process: asyncio.subprocess.Process, *, stateless: bool) -> None:
        super().__init__(stateless=stateless)
        self._process = process

    def send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def listen(self) -> None:
        """Hear what it says, to its end."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self.pipe.write(line)


@contextlib.asynccontextmanager
async def over_stdio(file: Path, *, stateless: bool) -> AsyncGenerator[Client]:
    """A client of a file that is run as a script. It has to end well, and to be silent."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(file), stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        client = _Pipes(process, stateless=stateless)
        listening = asyncio.create_task(client.listen())
        await client.open(HANDSHAKE)
        yield client
        process.stdin.close()
        await asyncio.wait_for(listening, PATIENCE)
        said = await asyncio.wait_for(process.stderr.read(), PATIENCE)
        assert (await asyncio.wait_for(process.wait(), PATIENCE), said) == (0, b"")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _forwarding(web: httpx2.AsyncClient) -> Callable[..., Coroutine[Any, Any, None]]:
    """An application that asks a server for its answers."""

    async def app(scope: Json, receive: Any, send: Any) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
        body = (await receive())["body"]
        asked = web.stream(scope["method"], scope["path"], headers=headers, content=body)
        async with asked as answer:
            fields = [(name.lower(), value) for name, value in answer.headers.raw]
            await send({"type": "http.response.start", "headers": fields})
            async for part in answer.aiter_bytes():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body"})

    return app


@contextlib.asynccontextmanager
async def over_http(file: Path, *, stateless: bool) -> AsyncGenerator[Client]:
    """A client of a file that our command serves. It has to end well."""
    with Site(by_command(file), cwd=ROOT) as site:
        site.is_served()
        url = f"http://127.0.0.1:{site.port}"
        async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE) as web:
            client = Http(_forwarding(web), stateless=stateless)
            await client.open()
            yield client
            await client.close()
        assert site.status_after(signal.SIGTERM) == 0
        assert "Traceback" not in site.stderr


ByFile = Callable[[Path], "contextlib.AbstractAsyncContextManager[Client]"]
PROCESSES: dict[str, ByFile] = {
    "stdio 2025": lambda file: over_stdio(file, stateless=False),
    "stdio 2026": lambda file: over_stdio(file, stateless=True),
    "http 2025": lambda file: over_http(file, stateless=False),
    "http 2026": lambda file: over_http(file, stateless=True),
}
