"""The official TypeScript client drives the demo, over stdio and over HTTP, in every era."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import nodejs
from tests.transports.http.servers.web import HERE, Site

PACKAGE, VERSION = "@modelcontextprotocol/client", "2.4.0"
DRIVER = Path(__file__).with_name("typescript.mjs")
SERVE = [sys.executable, "-m", "toolhaft", "run", "examples/demo.py"]
# How the client is told to connect, and the revision that has to come of it.
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25", "modern": "2026-07-28"}

# The first of these tests installs what all of them need.
pytestmark = pytest.mark.timeout(400)

Seen = dict[str, Any]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Site([*SERVE, "--http", f"{HERE}:0"], cwd=nodejs.ROOT) as site:
        site.is_served()
        yield f"http://{HERE}:{site.port}/mcp"
        assert "Traceback" not in site.stderr


@pytest.fixture(scope="module", params=[(door, era) for door in ("stdio", "http") for era in ERAS],
                ids="-".join)  # fmt: skip
def session(request: pytest.FixtureRequest, url: str) -> tuple[str, Seen]:
    """One run of the client through all of its steps: the revision that it must have agreed on, and
    what it saw."""
    door, era = request.param
    folder = nodejs.package(PACKAGE, VERSION).parents[2]
    target = [url] if door == "http" else SERVE
    done = subprocess.run(
        [nodejs.node(), str(DRIVER), str(folder), era, door, *target],
        cwd=nodejs.ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    return ERAS[era], json.loads(done.stdout)


@pytest.fixture
def revision(session: tuple[str, Seen]) -> str:
    return session[0]


@pytest.fixture
def seen(session: tuple[str, Seen]) -> Seen:
    return session[1]


def test_the_client_gets_to_know_the_server(seen: Seen, revision: str) -> None:
    assert seen["revision"] == revision
    assert seen["server"] == "demo"
    assert {"completions", "prompts", "resources", "tools"} <= set(seen["capabilities"])


def test_everything_is_listed(seen: Seen) -> None:
    assert seen["tools"] == ["add", "slow", "write_note"]
    assert seen["resources"] == ["notes://all"]
    assert seen["templates"] == ["notes://{name}"]
    assert seen["prompts"] == ["greet"]


def test_a_tool_is_called(seen: Seen, revision: str) -> None:
    structure = 3 if revision == "2026-07-28" else {"result": 3}

    assert seen["call"] == ["3", structure, False]


def test_a_tool_that_fails_says_why(seen: Seen) -> None:
    assert seen["tool error"] == ["the note 'x' would be empty; pass some text", True]


def test_arguments_that_do_not_fit_are_an_answer_for_the_model(seen: Seen) -> None:
    text, is_error = seen["wrong arguments"]

    assert is_error is True
    assert "a:" in text


def test_what_is_not_there_is_an_error_of_the_protocol(seen: Seen) -> None:
    # The client gives the newest code for a resource, whichever was sent.
    assert [seen[f"unknown {what}"]["code"] for what in ("tool", "resource")] == [-32602, -32602]


def test_a_resource_of_a_template_is_read(seen: Seen) -> None:
    [content] = seen["read"]

    assert (content["uri"], content["text"]) == ("notes://welcome", "Hello from toolhaft.")


def test_a_prompt_is_got(seen: Seen) -> None:
    text = "Write a formal greeting for Ada."

    assert seen["prompt"] == [{"role": "user", "content": {"type": "text", "text": text}}]


def test_arguments_are_completed(seen: Seen) -> None:
    assert seen["completion"] == [["formal"], ["welcome"]]


def test_progress_arrives_before_the_result(seen: Seen) -> None:
    text, heard = seen["progress"]

    assert text == "took 0.1 seconds"
    # What comes in one chunk with the result, the client may pass on too late.
    assert heard in (list(range(10)), list(range(11)))


def test_a_call_that_is_given_up_harms_nobody(seen: Seen) -> None:
    assert seen["cancelled"] == "given up"
    assert seen["afterwards"] == "42"


def test_calls_run_side_by_side(seen: Seen) -> None:
    assert seen["side by side"] == [str(number + 1) for number in range(20)]


def test_the_client_hears_of_a_resource_that_it_follows(seen: Seen) -> None:
    assert seen["news"] == "notes://todo"
