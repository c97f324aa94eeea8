"""The arguments of all commands, and their help."""

import re
from pathlib import Path

import pytest
from tests.cli.running import toolhaft, write_server
from tests.cli.servers import COMMANDS, FAILING


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["call", "author.py", "fail", "how"], "toolhaft: 'how' is no argument"),
        (["call", "author.py", "fail", "how=@nowhere"], "toolhaft: how: 'nowhere': No such file"),
        (["call", "author.py", "fail", "-"], "toolhaft: stdin: expected a JSON object of all"),
        (["list", "nowhere.py"], "toolhaft: there is no file 'nowhere.py'"),
        (["list", "nowhere"], "toolhaft: there is no module 'nowhere'"),
        (
            ["list", "http://localhost:x/mcp"],
            "toolhaft: 'http://localhost:x/mcp' is no URL of a se",
        ),
        (["list", "ftp://localhost"], "toolhaft: 'ftp://localhost' is a URL of no kind we know"),
        (["list", "author.py", "--header", "a: b"], "toolhaft: --header is for servers at a URL"),
        (["list", "author.py", "--header", "a"], "usage: toolhaft list "),
        (["list", "http://localhost/mcp", "--header", "a: b\r\nc: d"], "usage: toolhaft list "),
        (["run", "stdio://x"], "toolhaft: 'stdio://x' is a URL; a target must be a file or a mod"),
        (["call", "author.py"], "toolhaft: say which tool: fail"),
        (["call", "author.py", "--json"], "toolhaft: say which tool: fail"),
        (["list", "author.py", "--revision", "1999"], "usage: toolhaft list "),
        (["list", "author.py", "--timeout", "0"], "usage: toolhaft list "),
        (["list", "author.py", "--timeout", "soon"], "usage: toolhaft list "),
        (["list", "author.py", "-x"], "usage: toolhaft list "),
        (["lost", "author.py"], "usage: toolhaft "),
        (["--json", "list", "author.py"], "usage: toolhaft "),
    ],
)
def test_a_wrong_command_line_is_refused(tmp_path: Path, arguments: list[str], told: str) -> None:
    write_server(tmp_path, FAILING)

    done = toolhaft(*arguments, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(told)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (["run"], "TARGET"),
        (["list"], "TARGET"),
        (["call"], "TARGET"),
        (["read", "author.py"], "URI"),
        (["prompt", "author.py"], "NAME"),
    ],
)
def test_only_what_is_required_is_said_to_be(
    tmp_path: Path, words: list[str], missing: str
) -> None:
    done = toolhaft(*words, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.endswith(f"error: the following arguments are required: {missing}\n")


def test_help_names_no_exit_status_that_cannot_be(tmp_path: Path) -> None:
    install = toolhaft("install", "--help", cwd=tmp_path).stdout
    uninstall = toolhaft("uninstall", "--help", cwd=tmp_path).stdout

    assert "4 the\nserver does not answer" in install
    assert "exit status: 0 done, 2 wrong" in uninstall
    assert "does not answer" not in uninstall


@pytest.mark.parametrize(("option", "name"), [("--a", "a"), ("--how=x", "how"), ("--ho-w", "ho-w")])
def test_an_argument_with_dashes_is_told_that_it_has_none(
    tmp_path: Path, option: str, name: str
) -> None:
    write_server(tmp_path, FAILING)

    done = toolhaft("call", "author.py", "fail", option, "1", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.endswith(f"; arguments are written without dashes, as in {name}=…\n")


def test_an_argument_that_is_not_utf_8_is_refused_by_the_server(tmp_path: Path) -> None:
    write_server(tmp_path, FAILING)

    done = toolhaft("call", "author.py", "fail", "how=\udcff", cwd=tmp_path)

    assert done.returncode == 4
    assert done.stderr.startswith("toolhaft: not JSON: not UTF-8")


def test_help_names_every_command(tmp_path: Path) -> None:
    done = toolhaft("--help", cwd=tmp_path)

    assert done.returncode == 0
    assert re.findall(r"^    (\S+)", done.stdout, re.MULTILINE) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_an_example(tmp_path: Path, command: str) -> None:
    done = toolhaft(command, "--help", cwd=tmp_path)

    assert done.returncode == 0
    assert f"example:\n  toolhaft {command}" in done.stdout
