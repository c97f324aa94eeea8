"""The commands of `curl` that docs/http.md shows, as they stand there, and what they print."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.transports.http.servers.web import HERE, Site, as_script

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs/http.md").read_text(encoding="utf-8")
PATIENCE = 30


def shown(title: str) -> str:
    """The block that stands under this comment."""
    found = re.search(rf"^<!-- {title} -->\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


@contextmanager
def served(example: str, folder: Path) -> Iterator[Site]:
    """An example that runs as a program, at a port of its own."""
    source = (ROOT / f"docs/examples/{example}.py").read_text(encoding="utf-8")
    assert f"{HERE}:8000" in source
    file = folder / f"{example}.py"
    file.write_text(source.replace(f"{HERE}:8000", f"{HERE}:0"), encoding="utf-8")
    with Site(as_script(file), cwd=folder) as site:
        yield site.is_served()


class Terminal:
    """Runs what the page shows."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.variables: dict[str, str] = {}

    def begin(self, title: str) -> subprocess.Popen[str]:
        command = shown(title).replace(f"http://{HERE}:8000", f"http://{HERE}:{self._site.port}")
        # Neither its progress nor what a user has set up.
        quiet = 'curl() { command curl --disable --silent --show-error --max-time 20 "$@"; }\n'
        return subprocess.Popen(
            ["sh", "-c", f"set -eu\n{quiet}{command}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "no_proxy": "*", **self.variables},
        )

    def run(self, title: str) -> str:
        with self.begin(title) as process:
            printed, complaint = process.communicate(timeout=PATIENCE)
        assert (process.returncode, complaint) == (0, ""), complaint
        return printed


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """Where `http_asking.py` is served."""
    with served("http_asking", tmp_path) as site:
        yield Terminal(site)


@pytest.mark.parametrize(
    ("example", "command", "answer"),
    [("http_first", "first", "answer"), ("http_guard", "guard", "answer to guard")],
)
def test_a_call_of_a_client_that_names_no_revision(
    example: str, command: str, answer: str, tmp_path: Path
) -> None:
    with served(example, tmp_path) as site:
        assert Terminal(site).run(f"curl {command}") == shown(answer).strip()


def test_a_call_without_a_session(terminal: Terminal) -> None:
    assert terminal.run("curl call") == shown("answer to call").strip()


def test_a_call_that_asks_is_repeated_with_the_answer(terminal: Terminal) -> None:
    asked = terminal.run("curl ask")
    found = re.search(r'"requestState":"([^"]+)"', asked)
    assert found is not None, asked
    terminal.variables["STATE"] = found[1]

    assert asked.replace(found[1], "…") == shown("answer to ask").strip()
    assert terminal.run("curl repeat") == shown("answer to repeat").strip()


def test_a_session_from_its_beginning_to_its_end(terminal: Terminal) -> None:
    begun = terminal.run("curl initialize")
    found = re.search(r"(?<=mcp-session-id: )\S+", begun)
    assert found is not None, begun
    terminal.variables["SESSION"] = found[0]
    assert begun.replace("\r", "").replace(found[0], "…") == shown("answer to initialize").strip()

    with terminal.begin("curl call in a session") as call:
        assert call.stdout is not None
        question = shown("question in a session")
        heard = next((line for line in call.stdout if "ask-1" in line), None)
        taken = terminal.run("curl answer in a session")
        rest = call.communicate(timeout=PATIENCE)[0]

    assert heard == question
    assert taken == ""
    assert shown("answer in a session") in rest
    assert terminal.run("curl end of a session") == ""
    assert "there is no such session" in terminal.run("curl end of a session")
