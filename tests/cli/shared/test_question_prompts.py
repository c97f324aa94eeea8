"""Tools that ask, answered by `--answer` and by a person at a terminal."""

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.running import toolhaft, write_server

PATIENCE = 20.0
ERAS = ["2026-07-28", "2025-11-25"]
ASKING = """
    from dataclasses import dataclass
    from typing import Annotated, Literal
    from toolhaft import Accepted, Titles

    @dataclass
    class Seat:
        row: int
        side: Annotated[Literal["l", "r"], Titles(l="Left", r="Right")] = "l"
        quiet: bool = False
        note: str | None = None

    @server.tool
    async def book(ctx: Context) -> str:
        return repr(await ctx.elicit("Which seat?", Seat))

    @server.tool
    async def twice(ctx: Context) -> str:
        first = await ctx.elicit("First?", str)
        second = await ctx.elicit("Second?", str)
        return f"{first} {second}"

    @server.tool
    async def several(ctx: Context) -> str:
        return repr(await ctx.elicit("Which?", list[Literal["a", "b", "c"]]))

    @server.tool
    async def pay(ctx: Context) -> str:
        return repr(await ctx.elicit_url("Pay, please.", "https://example.org/pay"))

    @server.tool
    async def adapt(ctx: Context) -> str:
        return "asks" if ctx.client.can("elicitation.form") else "does without"

    @server.tool
    async def think(ctx: Context) -> str:
        return (await ctx.sample("hello")).text

    @server.tool
    async def folders(ctx: Context) -> str:
        return repr(await ctx.roots())
"""
each_era = pytest.mark.parametrize("era", ERAS)


# By the command line


@each_era
@pytest.mark.parametrize(
    ("tool", "answers", "told"),
    [
        ("book", ["row=3"], "Accepted(value=Seat(row=3, side='l', quiet=False, note=None))"),
        (
            "book",
            ["row=3", "side=Right", "quiet=y", "note=by the door"],
            "Accepted(value=Seat(row=3, side='r', quiet=True, note='by the door'))",
        ),
        ("book", ['{"row": 4}'], "Accepted(value=Seat(row=4, side='l', quiet=False, note=None))"),
        ("book", ["decline"], "Declined()"),
        ("book", ["cancel"], "Cancelled()"),
        ("twice", ["value=a", "value=b"], "Accepted(value='a') Accepted(value='b')"),
        ("twice", ["decline", "value=b"], "Declined() Accepted(value='b')"),
        ("twice", ["value=a", '{"value": "b"}'], "Accepted(value='a') Accepted(value='b')"),
        ("several", ["value=a, 3"], "Accepted(value=['a', 'c'])"),
        ("pay", ["accept"], "Accepted(value=None)"),
        ("pay", ["decline"], "Declined()"),
        ("adapt", ["x=1"], "asks"),
    ],
)
def test_answers_are_given(
    tmp_path: Path, era: str, tool: str, answers: list[str], told: str
) -> None:
    write_server(tmp_path, ASKING)
    words = [word for answer in answers for word in ("--answer", answer)]

    done = toolhaft("call", "author.py", tool, "--revision", era, *words, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, f"{told}\n"), done.stderr
    assert done.stderr == ("note: no question has used --answer x\n" if tool == "adapt" else "")


@each_era
@pytest.mark.parametrize(
    ("tool", "answers", "told"),
    [
        ("book", ["row=x"], "row: expected an integer, got 'x'"),
        ("book", ["row=1", "side=up"], "side: expected one of l, r, got 'up'"),
        ("book", ['{"row": "x"}'], "row"),
        ("book", ["note=x"], "this asks 'Which seat?', for row (int); side (1 l: Left, 2 r: Right"),
        ("twice", ["value=a"], "this asks 'Second?', for value (str); answer with --answer value="),
        ("pay", ["x=1"], "this asks 'Pay, please.', and to open https://example.org/pay; answer w"),
        (
            "book",
            ["-"],
            "--answer takes NAME=VALUE, a JSON object, accept, decline, cancel or show",
        ),
        ("book", ["accept"], "this asks 'Which seat?', for row (int); side"),
        ("book", ["accept"], "; answer with --answer row=… or --answer decline, or run it in a te"),
        ("book", ['{"note": "x"}'], "; answer with --answer row=… or --answer decline, or run it"),
        ("book", ["show"], "this asks 'Which seat?', for row (int); side (1 l: Left, 2 r: Right"),
        ("twice", ["value=a", "show"], "this asks 'Second?', for value (str); answer with --answ"),
        ("pay", ["show"], "this asks 'Pay, please.', and to open https://example.org/pay; answer"),
        ("book", ["row"], "'row' is no answer; --answer takes NAME=VALUE, a JSON object, accept"),
    ],
)
def test_what_does_not_answer_is_told(
    tmp_path: Path, era: str, tool: str, answers: list[str], told: str
) -> None:
    write_server(tmp_path, ASKING)
    words = [f"--answer={answer}" for answer in answers]

    done = toolhaft("call", "author.py", tool, "--revision", era, *words, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("toolhaft: ")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@each_era
def test_without_an_answer_and_a_person_nothing_is_promised(tmp_path: Path, era: str) -> None:
    write_server(tmp_path, ASKING)

    asked = toolhaft("call", "author.py", "book", "--revision", era, cwd=tmp_path)
    adapted = toolhaft("call", "author.py", "adapt", "--revision", era, cwd=tmp_path)
    model = toolhaft("call", "author.py", "think", "--revision", era, cwd=tmp_path)
    roots = toolhaft("call", "author.py", "folders", "--revision", era, cwd=tmp_path)

    assert asked.returncode in (4, 5)
    words = "it asks the user: --answer show shows what, --answer NAME=VALUE answers it; or run"
    assert words in asked.stderr
    assert adapted.stdout == "does without\n"
    assert "asks for a language model, which toolhaft has not" in model.stderr
    assert "asks for the folders of its client, and there are none here" in roots.stderr


@pytest.mark.parametrize(
    ("tool", "revision", "needed"),
    [("book", "2025-03-26", "2025-06-18"), ("pay", "2025-06-18", "2025-11-25")],
)
def test_a_revision_without_questions_is_told_from_one_with_them(
    tmp_path: Path, tool: str, revision: str, needed: str
) -> None:
    write_server(tmp_path, ASKING)

    done = toolhaft(
        "call", "author.py", tool, "--answer", "row=1", "--revision", revision, cwd=tmp_path
    )

    assert done.returncode == 5
    assert f"; such questions need revision {needed} or later; see --revision\n" in done.stderr
    assert "in a terminal" not in done.stderr


# At the terminal


def at_terminal(folder: Path, typed: list[str], *words: str) -> tuple[int, str, str]:
    """The exit status, stdout and what the terminal shows, for a person who types these lines.

    Each is typed when something was asked: when the terminal shows a text that ends with `: `.
    """
    master, slave = os.openpty()
    command = [sys.executable, "-m", "toolhaft", "call", "author.py", *words]
    with subprocess.Popen(
        command, cwd=folder, stdin=slave, stderr=slave, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        os.close(slave)
        shown, left, deadline = "", list(typed), time.monotonic() + PATIENCE
        try:
            while time.monotonic() < deadline:
                if not select.select([master], [], [], 0.1)[0]:
                    continue
                try:
                    data = os.read(master, 4096)
                except OSError:  # nobody has the other end open any more
                    break
                shown += data.decode()
                if shown.endswith(": ") and left:
                    os.write(master, left.pop(0).encode())
            assert process.stdout is not None
            assert left == [], shown
            stdout = process.stdout.read()
            status = process.wait(PATIENCE)
        finally:
            process.kill()
            os.close(master)
    return status, stdout, shown.replace("\r\n", "\n")


@each_era
def test_a_person_fills_in_a_form(tmp_path: Path, era: str) -> None:
    write_server(tmp_path, ASKING)
    typed = ["\n", "x\n", "7\n", "up\n", "2\n", "maybe\n", "y\n", "\n"]

    status, stdout, shown = at_terminal(tmp_path, typed, "book", "--revision", era)

    assert (status, stdout) == (
        0,
        "Accepted(value=Seat(row=7, side='r', quiet=True, note=None))\n",
    ), shown
    assert shown.startswith("Which seat?\n  (- declines, Ctrl-D cancels)\n  row (int): ")
    assert "  row is required\n" in shown
    assert "  row: expected an integer, got 'x'\n" in shown
    assert '  side (1 l: Left, 2 r: Right = "l"): ' in shown
    assert "  side: expected one of l, r, got 'up'\n" in shown
    assert "  quiet (y/n = false): " in shown
    assert "  note (str, may be left empty): " in shown


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
