"""The metrics of an attached process: told at its end, and reset by the command."""

import logging
from pathlib import Path

import pytest
from tests.attaching.fixtures import Reach
from tests.cli.running import toolhaft

from toolhaft import Server


def test_the_end_is_told_with_calls_and_errors(
    reach: Reach, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("tested", version="1.0.0")
    server.add_tool(lambda: None, name="nothing", description="Does nothing.")
    with caplog.at_level(logging.INFO, "toolhaft"), server.attach() as attached:
        reach(attached.socket).call("nothing")

    [told] = [message for message in caplog.messages if "has ended" in message]
    assert told.startswith("tested has ended. MCP metrics: ")


def test_a_reset_shows_the_metrics_and_begins_anew(reach: Reach, tmp_path: Path) -> None:
    server = Server("tested", version="1.0.0")
    server.add_tool(lambda: None, name="nothing", description="Does nothing.")
    with server.attach("reset-me") as attached:
        reach(attached.socket).call("nothing")
        shown = toolhaft("metrics", "reset-me", "--reset", cwd=tmp_path)

        assert shown.returncode == 0, shown.stderr
        assert "nothing" in shown.stdout
        assert server.metrics.total.calls == 0
