"""A person at the terminal, who is asked."""

from pathlib import Path

import pytest
from tests.cli.running import write_server
from tests.cli.shared.asking_server import ASKING, at_terminal

ERAS = ["2026-07-28", "2025-11-25"]


each_era = pytest.mark.parametrize("era", ERAS)


@each_era
@pytest.mark.parametrize(
    ("tool", "typed", "told"),
    [
        ("book", ["7\n", "\n", "\n", "\n"], "Accepted(value=Seat(row=7, side='l', quiet=False, no"),
        ("book", ["-\n"], "Declined()"),
        ("book", ["7\n", "-\n"], "Declined()"),
        ("book", ["\x04"], "Cancelled()"),
        ("twice", ["a\n", "b\n"], "Accepted(value='a') Accepted(value='b')"),
        ("pay", ["?\n", "y\n"], "Accepted(value=None)"),
        ("pay", ["n\n"], "Declined()"),
    ],
    ids=["defaults", "declined", "declined late", "cancelled", "twice", "agreed", "not agreed"],
)
def test_a_person_decides(tmp_path: Path, era: str, tool: str, typed: list[str], told: str) -> None:
    write_server(tmp_path, ASKING)

    status, stdout, shown = at_terminal(tmp_path, typed, tool, "--revision", era)

    assert status == 0, shown
    assert stdout.startswith(told), shown
    assert ("https://example.org/pay\n" in shown) == (tool == "pay")


def test_a_person_is_asked_for_what_the_command_line_leaves_open(tmp_path: Path) -> None:
    write_server(tmp_path, ASKING)
    words = ["book", "--answer", "side=r", "--answer", "quiet=y", "--answer", "note=x"]

    status, stdout, shown = at_terminal(tmp_path, ["9\n"], *words)

    assert (status, stdout) == (
        0,
        "Accepted(value=Seat(row=9, side='r', quiet=True, note='x'))\n",
    ), shown


def test_a_server_cannot_command_the_terminal(tmp_path: Path) -> None:
    source = """
        @server.tool
        async def ring(ctx: Context) -> str:
            return repr(await ctx.elicit("\\x1b[2Jring", str))
    """
    write_server(tmp_path, source)

    status, _, shown = at_terminal(tmp_path, ["-\n"], "ring")

    assert status == 0
    assert "\\x1b[2Jring" in shown
    assert "\x1b" not in shown
