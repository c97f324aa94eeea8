"""Metrics and the traffic log of a server in a process of its own, and the commands for them."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.running import toolhaft, write_server
from tests.transports.http.servers.web import Site, by_command, calls, write

from toolhaft.cli.commands import metrics
from toolhaft.cli.commands.metrics import NoMetrics, read, text_of
from toolhaft.metrics import Measured, Metrics
from toolhaft.observe.prometheus import exposition

ADD = """\
@server.tool
def add(a: int, b: int) -> int:
    return a + b
"""
LINES = "\n".join(
    json.dumps(message)
    for message in (
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "add", "arguments": {"a": 1, "b": 2}},
        },
        {"jsonrpc": "2.0", "id": 3, "method": "ping"},
    )
)


@contextmanager
def served(folder: Path, source: str, *options: str) -> Iterator[Site]:
    command = by_command(write(folder, source, "author.py"), *options)
    with Site(command, cwd=folder) as site:
        try:
            yield site.is_served()
        finally:
            site.close_all()


def test_the_command_shows_the_table_the_text_and_the_numbers(tmp_path: Path) -> None:
    with served(tmp_path, ADD, "--metrics") as site:
        where = f"127.0.0.1:{site.port}"
        site.post(calls("add", a=1, b=2))
        table = toolhaft("metrics", where, cwd=tmp_path)
        text = toolhaft("metrics", f"http://{where}/metrics", "--text", cwd=tmp_path)
        numbers = toolhaft("metrics", where, "--json", cwd=tmp_path)
        elsewhere = toolhaft("metrics", f"{where}/nowhere", cwd=tmp_path)

    assert table.returncode == text.returncode == numbers.returncode == 0, table.stderr
    assert table.stdout.startswith("server tested, path /mcp\n")
    assert "add" in table.stdout
    assert "MCP metrics: 1 calls, 0 errors (0.0% error rate)" in table.stdout
    assert "# TYPE toolhaft_calls_total counter" in text.stdout
    [server] = json.loads(numbers.stdout)
    assert server["server"] == "tested"
    [found] = [each for each in server["requests"] if each.get("name") == "add"]
    assert (found["calls"], found["errors"], sum(found["buckets"].values())) == (1, 0, 1)
    assert elsewhere.returncode == 4
    assert "404" in elsewhere.stderr


def test_where_there_are_no_metrics_the_command_says_so(tmp_path: Path) -> None:
    with served(tmp_path, ADD) as site:
        without = toolhaft("metrics", f"127.0.0.1:{site.port}", cwd=tmp_path)
    nobody = toolhaft("metrics", f"127.0.0.1:{site.port}", cwd=tmp_path)
    nowhere = toolhaft("metrics", "ftp://example.com", cwd=tmp_path)

    assert without.returncode == nobody.returncode == 4
    assert "was the server run with --metrics?" in without.stderr
    address = f"http://127.0.0.1:{site.port}/metrics"
    assert nobody.stderr == f"toolhaft: nothing listens at {address}\n"
    assert nowhere.returncode == 2
    assert "is no URL" in nowhere.stderr


def test_metrics_are_only_over_http(tmp_path: Path) -> None:
    author = write_server(tmp_path, ADD)

    done = toolhaft("run", author.name, "--metrics", cwd=tmp_path)

    assert done.returncode == 2
    assert "--metrics: only over HTTP" in done.stderr


def test_what_is_written_can_be_read_again() -> None:
    metrics = Metrics('a "b"\\', lambda call: None)
    metrics.refused("tools/list")
    metrics.refused("no/such")
    metrics.noticed("notifications/initialized")

    [page] = read(exposition([metrics.page(path="/x")]))

    assert page.labels == {"server": 'a "b"\\', "path": "/x"}
    assert page.measured == metrics.measured()
    assert page.measured["tools/list", None] == Measured(calls=1, errors=1)
    assert page.notices == {"notifications/initialized": 1}
    with pytest.raises(NoMetrics, match="no metrics of toolhaft"):
        read("<html>")


def test_each_of_several_workers_says_which_it_is(tmp_path: Path) -> None:
    with served(tmp_path, ADD, "--metrics", "--workers", "2") as site:
        site.post(calls("add", a=1, b=2))
        pages = [read(site.get("/metrics").body.decode()) for _ in range(30)]

    [found] = {page.labels["worker"] for each in pages for page in each if page.measured}
    assert found.isdigit()
    assert all(page.measured["tools/call", "add"].calls == 1 for each in pages for page in each)


# The traffic log


def test_the_command_logs_what_goes_over_stdio(tmp_path: Path) -> None:
    author, log = write_server(tmp_path, ADD), tmp_path / "traffic.jsonl"

    done = toolhaft("run", author.name, "--log-traffic", log.name, cwd=tmp_path, stdin=LINES)

    assert done.returncode == 0, done.stderr
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    came = [entry["message"] for entry in entries if entry["direction"] == "in"]
    went = [entry["message"] for entry in entries if entry["direction"] == "out"]
    assert came == [json.loads(line) for line in LINES.splitlines()]
    assert sorted(map(str, went)) == sorted(
        str(json.loads(line)) for line in done.stdout.splitlines()
    )


def test_the_environment_can_name_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    author, log = write_server(tmp_path, ADD), tmp_path / "traffic.jsonl"
    monkeypatch.setenv("TOOLHAFT_LOG", str(log))

    toolhaft("run", author.name, cwd=tmp_path, stdin=LINES)

    assert len(log.read_text().splitlines()) == 7


def test_a_log_that_cannot_be_written_is_told_before_anybody_is_served(tmp_path: Path) -> None:
    author = write_server(tmp_path, ADD)
    path = os.path.join("nowhere", "log")

    done = toolhaft("run", author.name, "--log-traffic", path, cwd=tmp_path, stdin=LINES)

    assert done.returncode == 2
    assert done.stderr == (
        "toolhaft: --log-traffic: cannot write 'nowhere/log': there is no folder 'nowhere'; "
        "make it first\n"
    )
    assert done.stdout == ""


def test_a_log_of_the_environment_that_is_a_folder_is_told(tmp_path: Path) -> None:
    author = write_server(tmp_path, ADD)

    done = toolhaft("run", author.name, cwd=tmp_path, stdin=LINES, TOOLHAFT_LOG=".")

    assert done.returncode == 2
    assert done.stderr == "toolhaft: TOOLHAFT_LOG: cannot write '.': Is a directory\n"


def test_the_command_logs_what_goes_over_http(tmp_path: Path) -> None:
    with served(tmp_path, ADD, "--log-traffic", "traffic.jsonl") as site:
        site.post(calls("add", a=1, b=2))

    entries = [json.loads(line) for line in (tmp_path / "traffic.jsonl").read_text().splitlines()]
    assert [(entry["direction"], entry["id"]) for entry in entries] == [("in", 1), ("out", 1)]


def test_an_address_is_asked_where_there_are_no_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no `os.getuid`, and no attached processes."""
    # For our module only: the standard library would look for the certificates of Windows.
    monkeypatch.setattr(metrics, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.delattr(os, "getuid")

    with pytest.raises(NoMetrics, match=r"^nothing listens at http://127\.0\.0\.1:9/metrics"):
        text_of("127.0.0.1:9", {})
    with pytest.raises(NoMetrics, match="say an address, as in 127"):
        text_of("notes", {})


def test_a_proxy_is_not_asked_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with served(tmp_path, ADD, "--metrics") as site:
        found = toolhaft("metrics", f"127.0.0.1:{site.port}", cwd=tmp_path)
        wrong = toolhaft("metrics", f"http://127.0.0.1:{site.port}/mcp", cwd=tmp_path)

    assert found.returncode == 0, found.stderr
    assert wrong.returncode == 4
    assert "leave out the path" in wrong.stderr


def test_a_header_is_written_as_for_every_command(tmp_path: Path) -> None:
    done = toolhaft("metrics", "127.0.0.1:1", "--header", "Bearer", cwd=tmp_path)

    assert done.returncode == 2
    assert "argument --header: a header is written 'Name: value', not 'Bearer'" in done.stderr
