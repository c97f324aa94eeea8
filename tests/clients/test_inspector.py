"""The Inspector's command line drives the demo, over stdio and over HTTP, in each era."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests import nodejs
from tests.clients.inspector import TOOL_FAILED, Inspected, inspect
from tests.transports.http.servers.web import HERE, Site

SERVE = [sys.executable, "-m", "toolhaft", "run", "examples/demo.py"]

# The first of these tests installs what all of them need.
pytestmark = pytest.mark.timeout(400)

Target = str | Sequence[str]
every_era = pytest.mark.parametrize("era", ["legacy", "modern"])


@pytest.fixture(scope="module", params=["stdio", "http"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """How the example is started, or where it is served."""
    if request.param == "stdio":
        yield SERVE
        return
    with Site([*SERVE, "--http", f"{HERE}:0"], cwd=nodejs.ROOT) as site:
        site.is_served()
        yield f"http://{HERE}:{site.port}/mcp"
        assert "Traceback" not in site.stderr


def calls(target: Target, era: str, name: str, /, **arguments: Any) -> Inspected:
    named = ["--tool-name", name, "--tool-args-json", json.dumps(arguments)]
    return inspect(target, "tools/call", era, *named)


@every_era
def test_the_tools_are_listed_and_their_schemas_are_good(target: Target, era: str) -> None:
    listed = inspect(target, "tools/list", era, "--strict")

    assert [tool["name"] for tool in listed.result["tools"]] == ["add", "slow", "write_note"]


def test_who_leaves_the_era_to_the_server_is_served(target: Target) -> None:
    assert calls(target, "auto", "add", a=1, b=2).result["content"][0]["text"] == "3"


@every_era
def test_a_tool_is_called(target: Target, era: str) -> None:
    assert calls(target, era, "add", a=1, b=2).result["content"][0]["text"] == "3"


@every_era
def test_a_tool_that_fails_says_why(target: Target, era: str) -> None:
    called = calls(target, era, "write_note", name="x", text="")

    assert called.status == TOOL_FAILED
    assert "the note 'x' would be empty" in called.printed


@every_era
def test_a_resource_of_a_template_is_read(target: Target, era: str) -> None:
    listed = inspect(target, "resources/templates/list", era).result["resourceTemplates"]
    [content] = inspect(target, "resources/read", era, "--uri", "notes://welcome").result[
        "contents"
    ]

    assert [template["uriTemplate"] for template in listed] == ["notes://{name}"]
    assert content["text"] == "Hello from toolhaft."


@every_era
def test_a_prompt_is_got(target: Target, era: str) -> None:
    named = ["--prompt-name", "greet", "--prompt-args", "name=Ada", "style=formal"]
    [message] = inspect(target, "prompts/get", era, *named).result["messages"]

    assert message["content"]["text"] == "Write a formal greeting for Ada."
