"""Servers that end, or never begin to answer: nobody waits for them longer than needed."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.client.http.test_streamable import Json, answering, session

from toolhaft.testing import Client, Mismatch, ServerGone, replay

ERAS = ["2025-11-25", "2026-07-28"]
MORTAL = """
    import os, subprocess, sys
    from toolhaft import Server

    server = Server("mortal", version="1", instructions="x")

    @server.tool
    def dies() -> str:
        os._exit(3)

    @server.tool
    def leaves_a_child() -> str:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
        with open(sys.argv[1], "w") as file:
            file.write(str(child.pid))
        os._exit(3)

    server.run()
"""


def mortal(folder: Path) -> list[str]:
    path = folder / "mortal.py"
    path.write_text(dedent(MORTAL))
    return [sys.executable, str(path), str(folder / "pid")]


async def test_a_server_that_ends_is_gone_although_its_child_holds_its_pipes(
    tmp_path: Path,
) -> None:
    try:
        with pytest.raises(ServerGone, match="ended with exit status 3"):
            async with Client.stdio(mortal(tmp_path), timeout=15) as client:
                await client.call("leaves_a_child")
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


@pytest.mark.parametrize("revision", ERAS)
async def test_who_listens_learns_that_the_server_is_gone(tmp_path: Path, revision: str) -> None:
    async with (
        Client.stdio(mortal(tmp_path), timeout=15, revision=revision) as client,
        client.listen(tools=True) as heard,
    ):
        dying = asyncio.create_task(client.call("dies"))
        with pytest.raises(ServerGone, match="ended with exit status 3"):
            await heard.next()
        with pytest.raises(ServerGone):
            await dying
        with pytest.raises(ServerGone):  # not only the first time
            await heard.next()


async def test_a_replay_does_not_wait_for_ever_for_who_takes_no_message(tmp_path: Path) -> None:
    end = asyncio.Event()

    async def answer(verb: str, message: Json, writer: asyncio.StreamWriter) -> None:
        if message.get("method") == "notifications/initialized":
            await end.wait()
        else:
            session(writer, verb, message)

    path = tmp_path / "ping.txt"
    ping = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    path.write_text(f"# A rule.\n@ revision 2025-11-25\n> {ping}\n< {ping}\n")
    async with answering(answer) as url, asyncio.timeout(15):
        with pytest.raises(Mismatch, match=r"nothing within 0\.5 seconds"):
            await replay(path, Client.http(url), patience=0.5)
        end.set()


async def test_a_replay_does_not_wait_for_ever_for_who_does_not_start(tmp_path: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    path = tmp_path / "ping.txt"
    ping = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    path.write_text(f"# A rule.\n@ revision 2025-11-25\n> {ping}\n< {ping}\n")
    async with asyncio.timeout(15):
        with pytest.raises(Mismatch, match=r"nothing within 0\.5 seconds"):
            await replay(path, Client.asgi(app), patience=0.5)
