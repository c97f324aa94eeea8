"""What is said of calls and errors at the end of a server, and how counting begins anew."""

import json
import signal
from pathlib import Path

import pytest
from tests.cli.running import toolhaft
from tests.processes.process import Process, command_for, write_server
from tests.transports.http.servers.web import Site, by_command, calls, write

from toolhaft import Server
from toolhaft.testing import Client

TELLING = """
import logging
logging.getLogger("toolhaft").setLevel("INFO")

@server.tool
def add(a: int, b: int) -> int:
    return a + b

@server.tool
def fail() -> None:
    raise ToolError("no")
"""
SUMMARY = "toolhaft: INFO: tested has ended. MCP metrics: 3 calls, 1 errors (33.3% error rate)\n"


def test_over_stdio_the_end_is_told_with_calls_and_errors(tmp_path: Path) -> None:
    with Process(command_for(write_server(tmp_path, TELLING)), cwd=tmp_path) as server:
        server.open()
        server.ask_tool(1, "add", a=1, b=2)
        server.ask_tool(2, "fail")

        assert server.end() == 0
        assert SUMMARY in server.stderr


def test_over_http_it_is_told_as_well(tmp_path: Path) -> None:
    with Site(by_command(write(tmp_path, TELLING)), cwd=tmp_path) as site:
        site.is_served()
        for name, arguments in (("add", {"a": 1, "b": 2}), ("fail", {}), ("add", {"a": 1, "b": 2})):
            site.post(calls(name, **arguments))

        assert site.status_after(signal.SIGTERM) == 0
        assert site.stderr.count(SUMMARY) == 1


async def test_it_is_not_shown_by_default(caplog: pytest.LogCaptureFixture) -> None:
    async with Client.asgi(Server("tested", version="1.0.0").asgi()):
        pass

    assert "has ended" not in caplog.text


def test_a_reset_shows_the_metrics_and_begins_anew(tmp_path: Path) -> None:
    with Site(by_command(write(tmp_path, TELLING), "--metrics"), cwd=tmp_path) as site:
        site.is_served()
        where = f"127.0.0.1:{site.port}"
        site.post(calls("add", a=1, b=2))
        before = toolhaft("metrics", "--reset", where, "--json", cwd=tmp_path)
        after = toolhaft("metrics", where, "--json", cwd=tmp_path)
        site.post(calls("add", a=1, b=2))
        anew = toolhaft("metrics", where, "--json", cwd=tmp_path)
        site.close_all()

    def counted(text: str) -> list[int]:
        return [each["calls"] for page in json.loads(text) for each in page["requests"]]

    assert (before.returncode, counted(before.stdout)) == (0, [1])
    assert counted(after.stdout) == []
    assert counted(anew.stdout) == [1]
