"""A server is started as a client starts it, before it is installed; and by a client, after."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import mcp
import pytest
import yaml
from mcp import StdioServerParameters
from tests.cli.installing.conftest import SOURCE, House

from toolhaft.cli.installing.start_trial import NoAnswer, launcher, start

PYTHON_PATH = ("--env", f"PYTHONPATH={SOURCE}")
Command = tuple[str, list[str], dict[str, str]]


def test_the_name_is_that_of_the_server(house: House) -> None:
    done = house.run("install", "cursor", "notes.py", *PYTHON_PATH)
    written = json.loads((house.home / ".cursor/mcp.json").read_text())

    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("My Notes: starts, and has 1 tool\ncursor: added 'My-Notes' in ")
    assert list(written["mcpServers"]) == ["My-Notes"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import missing_module", "No module named 'missing_module'"),
        ("x = 1", "notes.py has no Server"),
        ("import os\nos.environ['ONLY_IN_MY_SHELL']", "KeyError: 'ONLY_IN_MY_SHELL'"),
        ("open('beside.txt')", "No such file or directory: 'beside.txt'"),
        ("import os\nos._exit(9)", "it ended with status 9"),
        ("import time\ntime.sleep(60)", "no answer within 3 seconds"),
    ],
    ids=["import", "nothing", "environment", "folder", "exit", "late"],
)
def test_a_server_that_does_not_start_is_not_installed(
    house: House, monkeypatch: pytest.MonkeyPatch, source: str, message: str
) -> None:
    monkeypatch.setenv("ONLY_IN_MY_SHELL", "1")
    (house.project / "beside.txt").write_text("")
    (house.project / "notes.py").write_text(source)
    seconds = "3" if "sleep" in source else "30"

    done = house.run("install", "cursor", "notes.py", *PYTHON_PATH, "--timeout", seconds)

    assert (done.status, done.out) == (4, "")
    assert message in done.err
    assert "variables are given by --env, and --no-check installs it all the same" in done.err
    assert not (house.home / ".cursor").exists()


@pytest.mark.parametrize(
    ("client", "reference"),
    [("cursor", "${env:MINE}"), ("claude-code", "${MINE}"), ("opencode", "{env:MINE}")],
)
def test_a_server_is_tried_with_what_the_client_will_look_up(
    house: House, monkeypatch: pytest.MonkeyPatch, client: str, reference: str
) -> None:
    monkeypatch.setenv("MINE", "precious")
    server = (house.project / "notes.py").read_text()
    check = "import os\nassert os.environ['TOKEN'] == 'a precious ${other}'\n"
    (house.project / "notes.py").write_text(check + server)

    done = house.run(
        "install", client, "notes.py", *PYTHON_PATH, "--env", f"TOKEN=a {reference} ${{other}}"
    )

    assert (done.status, done.err) == (0, "")
    written = [data for name, data in house.tree().items() if name.startswith("home/")]
    assert b"precious" not in b"".join(written)


def test_a_server_without_tools_is_a_server(house: House) -> None:
    (house.project / "notes.py").write_text("from toolhaft import Server\nserver = Server('bare')")

    done = house.run("install", "cursor", "notes.py", *PYTHON_PATH)

    assert done.out.startswith("bare: starts, and has 0 tools\n")


def test_toolhaft_is_started_by_a_full_path(tmp_path: Path) -> None:
    python = tmp_path / "python"
    without = launcher(str(python))
    (tmp_path / "toolhaft").write_text("")

    assert without == [str(python), "-P", "-m", "toolhaft"]
    assert launcher(str(python)) == [str(tmp_path / "toolhaft")]


# The real thing


def from_json(house: House) -> Command:
    found = json.loads((house.home / ".cursor/mcp.json").read_text())["mcpServers"]["n"]
    return found["command"], found["args"], found["env"]


def from_toml(house: House) -> Command:
    found = tomllib.loads((house.home / ".codex/config.toml").read_text())["mcp_servers"]["n"]
    return found["command"], found["args"], found["env"]


def from_yaml(house: House) -> Command:
    text = (house.home / ".config/goose/config.yaml").read_text()
    found: Any = yaml.safe_load(text)["extensions"]["n"]
    return found["cmd"], found["args"], found["envs"]


def from_list(house: House) -> Command:
    text = (house.home / ".config/opencode/opencode.json").read_text()
    found = json.loads(text)["mcp"]["n"]
    return found["command"][0], found["command"][1:], found["environment"]


def test_a_module_beside_us_is_not_taken_for_an_installed_one(house: House) -> None:
    # `python -m` looks for modules in the present folder, which is not where clients are.
    words = ["install", "cursor", "notes:server", "--name", "n", *PYTHON_PATH]
    done = subprocess.run(
        [sys.executable, "-m", "toolhaft", *words],
        cwd=house.project,
        env={"HOME": str(house.home), "PYTHONPATH": SOURCE, "PATH": ""},
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert from_json(house)[1][-2:] == ["--directory", str(house.project)]


@pytest.mark.parametrize("target", ["notes.py", "notes:server"])
@pytest.mark.parametrize(
    ("client", "read"),
    [("cursor", from_json), ("codex", from_toml), ("goose", from_yaml), ("opencode", from_list)],
    ids=["cursor", "codex", "goose", "opencode"],
)
async def test_a_client_can_start_what_was_written(
    house: House, monkeypatch: pytest.MonkeyPatch, client: str, read: Any, target: str
) -> None:
    installed = house.run("install", client, target, "--name", "n", "--no-check", *PYTHON_PATH)
    command, args, env = read(house)
    monkeypatch.chdir("/")
    parameters = StdioServerParameters(command=command, args=args, env=env)

    async with mcp.Client(parameters) as session:
        result = await session.call_tool("shout", {"text": "hello"})

    assert installed.status == 0
    assert result.content[0].text == "HELLO"


@pytest.mark.parametrize("words", [["install", "cursor", "zed", "notes.py"], ["clients"]])
def test_the_work_is_done_even_if_nobody_reads_what_is_said(house: House, words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "toolhaft", *words, *PYTHON_PATH[: 2 * (len(words) > 1)]],
            cwd=house.project,
            env={"HOME": str(house.home), "PYTHONPATH": SOURCE, "PATH": ""},
            stdout=writing,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=30,
            check=False,
        )
    finally:
        os.close(writing)

    assert (done.returncode, done.stderr) == (0, "")
    assert (house.home / ".config/zed/settings.json").exists() == (len(words) > 1)


def test_a_server_that_cannot_even_be_started_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))

    with pytest.raises(NoAnswer, match=r"it cannot be started: .*nobody"):
        start([sys.executable, "-c", ""], {}, seconds=10)
