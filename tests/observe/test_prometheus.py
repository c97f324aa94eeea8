"""Metrics as a table, and as the text that Prometheus reads."""

import pytest
from tests.asking import handled as ask
from tests.asking import handled_call as call
from tests.observe.samples import read, value

from toolhaft import Server, ToolError


@pytest.fixture
def server() -> Server:
    made = Server("notes", version="1")

    @made.tool(thread=False)
    def add(a: int, b: int) -> int:
        return a + b

    @made.tool(thread=False)
    def fail() -> str:
        raise ToolError("no")

    return made


async def test_prometheus_reads_the_text(server: Server) -> None:
    await call(server, "add", a=1, b=2)
    await call(server, "fail")
    await call(server, "nothing")
    await server.handle({"jsonrpc": "2.0", "method": "notifications/initialized"})

    types, samples = read(server.metrics.text())

    assert types == {
        "toolhaft_calls": "counter",
        "toolhaft_calls_in_flight": "gauge",
        "toolhaft_call_duration_seconds": "histogram",
        "toolhaft_notifications": "counter",
    }
    tool = {"server": "notes", "method": "tools/call"}
    total = "toolhaft_calls_total"
    assert value(samples, total, **tool, name="add", outcome="ok") == 1
    assert value(samples, total, **tool, name="fail", outcome="failure") == 1
    assert value(samples, total, **tool, name="(unknown)", outcome="error") == 1
    assert value(samples, "toolhaft_calls_in_flight", **tool, name="add") == 0
    assert value(samples, "toolhaft_notifications_total", server="notes") == 1


async def test_a_histogram_goes_up_to_its_count(server: Server) -> None:
    await call(server, "add", a=1, b=2)
    await call(server, "add", a=1, b=2)

    _, samples = read(server.metrics.text())

    family = "toolhaft_call_duration_seconds"
    buckets = {
        float(dict(labels)["le"]): count
        for (name, labels), count in samples.items()
        if name == f"{family}_bucket"
    }
    counts = [buckets[bound] for bound in sorted(buckets)]
    assert counts == sorted(counts)
    assert counts[-1] == value(samples, f"{family}_count", name="add") == 2
    assert max(buckets) == float("inf")
    assert value(samples, f"{family}_sum", name="add") == server.metrics["tools/call:add"].seconds


@pytest.mark.filterwarnings("ignore:tool .* clients may refuse this name")
async def test_names_are_escaped() -> None:
    name = 'a"b\\c\nd é'
    server = Server('odd "name"', version="1")
    server.add_tool(lambda: "x", name=name, thread=False)
    await call(server, name)

    _, samples = read(server.metrics.text(path='/"x"'))

    labels = {"server": 'odd "name"', "path": '/"x"', "name": name}
    assert value(samples, "toolhaft_calls_total", outcome="ok", **labels) == 1
    # In the table it keeps to its line.
    assert [line for line in server.metrics.table().split("\n") if "d é" in line] == [
        line for line in server.metrics.table().split("\n") if 'a"b\\c' in line
    ]


async def test_the_table_has_a_row_for_each_key_and_correct_totals(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """E-54: tables of methods, tools and notifications, sorted, with a summary that adds up."""
    await call(server, "fail")
    await call(server, "add", a=1, b=2)
    await call(server, "add", a=1, b=2)
    await ask(server, "tools/list")
    await server.handle({"jsonrpc": "2.0", "method": "notifications/initialized"})
    server.metrics.show()

    head, *rows, _, summary, _ = capsys.readouterr().out.split("\n")
    assert head.split()[:3] == ["calls", "errors", "error"]
    assert [row.split()[:4] for row in rows[:-1]] == [
        ["tools/call", "3", "1", "33.3"],
        ["add", "2", "0", "0.0"],
        ["fail", "1", "1", "100.0"],
        ["tools/list", "1", "0", "0.0"],
    ]
    assert rows[-1].split() == ["notifications/initialized", "1"]
    assert summary == "MCP metrics: 4 calls, 1 errors (25.0% error rate)"
