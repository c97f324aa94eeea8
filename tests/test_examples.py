"""Every example runs, by its own command and in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def run(*command: str, sends: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        input=sends,
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )


def lines_of(output: str, mark: str) -> list[dict[str, Any]]:
    return [json.loads(line[3:]) for line in output.splitlines() if line.startswith(mark + " ")]


def test_there_is_no_example_that_is_not_tested() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == {
        "demo.py",
        "everything.py",  # in tests/conformance
        "factorial.py",  # these three in tests/providing
        "files.py",
        "notes.py",
        "try_demo.py",
    }


def test_the_demo_serves_when_it_is_run_as_a_script() -> None:
    call = {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": ENVELOPE}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}

    served = run("examples/demo.py", sends=json.dumps(request) + "\n")

    assert served.returncode == 0, served.stderr
    assert served.stderr == ""
    [answer] = map(json.loads, served.stdout.splitlines())
    assert answer["result"]["structuredContent"] == 3


def test_trying_the_demo_shows_both_sides_of_the_wire() -> None:
    shown = run("examples/try_demo.py")

    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""
    sent, received = lines_of(shown.stdout, "->"), lines_of(shown.stdout, "<-")
    assert [message["method"] for message in sent] == [
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
        "tools/call",
    ]
    assert [message["id"] for message in received] == [1, 2, 3, 4]
    assert received[0]["result"]["protocolVersion"] == "2025-11-25"
    assert received[2]["result"]["structuredContent"] == {"result": 3}
    assert received[3]["result"]["structuredContent"] == 3
    assert shown.stdout.count("# 1 + 2 = 3\n") == 2
    assert shown.stdout.endswith("# the server has ended with status 0\n")


def test_trying_the_demo_works_from_any_folder(tmp_path: Path) -> None:
    shown = subprocess.run(
        [sys.executable, str(EXAMPLES / "try_demo.py")],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )

    assert shown.returncode == 0, shown.stderr
