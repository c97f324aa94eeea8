"""What commands say, on a terminal and in a pipe."""

import os
import pty
import subprocess
from pathlib import Path

import pytest
from tests.cli.running import write_server
from tests.toolhaft_bridge.evil_text import obeyed
from tests.warm import OURS, warm

from toolhaft.cli.shared.console import complain, show

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\u2066\r\x08\x7f\u2028\ufeff"


# Each of these has the text in every place where a server can put one.
SERVER = f"""
    EVIL = {EVIL!r}

    server = Server("tested", version="1.0.0", instructions="use " + EVIL)

    @server.tool(title="t" + EVIL, description="d" + EVIL)
    async def say(ctx: Context) -> str:
        await ctx.progress(1, 2, EVIL)
        await ctx.log("warning", EVIL)
        return "said" + EVIL

    @server.tool
    def fail() -> str:
        raise ToolError("failed" + EVIL)

    @server.resource("x://a", title="r" + EVIL)
    def read() -> str:
        return "read" + EVIL

    @server.prompt
    def ask() -> str:
        return "asked" + EVIL
"""


def test_what_commands_say_is_shown_so(capsys: pytest.CaptureFixture[str]) -> None:
    show(EVIL)
    complain(EVIL)

    out, err = capsys.readouterr()
    assert obeyed(out) == obeyed(err) == []


WORDS = {
    "list": (["list", "author.py"], "use "),
    "list --json": (["list", "author.py", "--json"], "use "),
    "call": (["call", "author.py", "say"], "said"),
    "call --json": (["call", "author.py", "say", "--json"], "said"),
    "failed": (["call", "author.py", "fail"], "failed"),
    "read": (["read", "author.py", "x://a"], "read"),
    "prompt": (["prompt", "author.py", "ask"], "asked"),
}


def on_terminal(cwd: Path, *words: str) -> str:
    """What a command writes to a terminal, on stdout and stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        warm(OURS, "-m", "toolhaft", *words), cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # which says that no other has it open
            break
        if not data:
            break
        said += data
    process.wait(30)
    os.close(ours)
    return said.decode().replace("\r\n", "\n")  # a terminal makes that of each newline


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_a_server_cannot_command_a_terminal(tmp_path: Path, words: tuple[list[str], str]) -> None:
    write_server(tmp_path, SERVER)
    command, expected = words

    said = on_terminal(tmp_path, *command)

    assert expected in said
    assert obeyed(said) == []
    assert "\\x1b" in said or "\\u001b" in said


@pytest.mark.parametrize("name", ["call", "read", "prompt"])
def test_raw_shows_it_as_it_is(tmp_path: Path, name: str) -> None:
    write_server(tmp_path, SERVER)
    command, expected = WORDS[name]

    assert expected + EVIL[:12] in on_terminal(tmp_path, *command, "--raw")


@pytest.mark.parametrize("name", ["call", "read", "prompt"])
def test_a_pipe_gets_every_character(tmp_path: Path, name: str) -> None:
    write_server(tmp_path, SERVER)
    command, expected = WORDS[name]

    done = subprocess.run(
        warm(OURS, "-m", "toolhaft", *command), cwd=tmp_path, capture_output=True, check=True
    )

    assert (expected + EVIL).encode() in done.stdout
    assert obeyed(done.stderr.decode()) == []
