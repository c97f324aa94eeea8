"""The expert for birds asks clients of `mcp` and `fastmcp`, in both eras, over stdio and HTTP."""

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastmcp
import mcp
import pytest
from fastmcp.client.transports import StdioTransport
from mcp import StdioServerParameters
from mcp.types import ElicitResult
from tests.conformance.suite import served
from tests.warm import OURS, warm

from toolhaft import Declined
from toolhaft.testing import in_both_eras

ROOT = Path(__file__).parents[2]
EXAMPLE = runpy.run_path(str(ROOT / "examples/birds.py"))
BIRDS, FAMILIES, ORDERS, MENUS, SERVER = (
    EXAMPLE[name] for name in ("BIRDS", "FAMILIES", "ORDERS", "MENUS", "server")
)
COMMAND = ["-m", "toolhaft", "run", "examples/birds.py"]
ERAS = ["2026-07-28", "legacy"]
OLD_METHODS = "ignore:.*(removed|deprecated) as of 2026-07-28:mcp.MCPDeprecationWarning"
NONE = "No bird could be identified from the given characteristics."


def facts_of(bird: str) -> dict[str, set[str]]:
    """Everything that a rule wants to hold for a bird."""
    family, own = BIRDS[bird]
    order, familys = FAMILIES[family]
    facts: dict[str, set[str]] = {}
    for conditions in (ORDERS[order], familys, own):
        for attribute, value in conditions.items():
            facts.setdefault(attribute, set()).add(value)
    return facts


def answer(bird: str | None, message: str) -> str | None:
    """What somebody says who has seen this bird; None is no answer."""
    facts = facts_of(bird) if bird is not None else {}
    if message.startswith("What is the value for "):
        return next(iter(facts.get(message[22:-1], ())), None)
    attribute, _, value = message.removesuffix("?").partition(": ")
    return "yes" if value in facts.get(attribute, ()) else "no"


@pytest.mark.parametrize("bird", BIRDS)
async def test_every_bird_is_identified_in_both_eras(bird: str) -> None:
    def said(_method: str, params: Any) -> Any:
        found = answer(bird, params["message"])
        return Declined() if found is None else found

    played = await in_both_eras(SERVER, "identify_bird", answers=said)

    assert played.text == f"Identified bird: {bird}"
    assert played.rounds <= 10


async def test_whoever_declines_says_no_and_nothing_is_asked_twice() -> None:
    played = await in_both_eras(SERVER, "identify_bird", answers=lambda *_: Declined())
    messages = [each["params"]["message"] for each in played.questions]

    assert played.text == NONE
    assert len(messages) == len(set(messages)) == 9
    assert "bill: sharp_hooked?" in messages


def test_menus_are_menus_and_all_else_is_yes_or_no() -> None:
    assert set(MENUS) == {"size", "flight", "flight_profile", "tail"}


@pytest.fixture(scope="module", params=["stdio", "http"])
def url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str | None]:
    """The address of the example over HTTP, or none: then the client starts it over stdio."""
    if request.param == "stdio":
        yield None
        return
    command = [sys.executable, *COMMAND, "--http", "127.0.0.1:{port}"]
    with served(command, tmp_path_factory.mktemp("served")) as it:
        yield it.url


every_era = pytest.mark.parametrize("mode", ERAS)
every_bird = pytest.mark.parametrize("bird", ["barn_swallow", "california_condor", None])


@every_era
@every_bird
@pytest.mark.filterwarnings(OLD_METHODS)
async def test_the_client_of_mcp_is_asked(mode: str, bird: str | None, url: str | None) -> None:
    async def elicited(_context: Any, params: Any) -> ElicitResult:
        found = answer(bird, params.message)
        if found is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"value": found})

    command, *words = warm(OURS, *COMMAND)
    stdio = StdioServerParameters(command=command, args=words, cwd=ROOT)
    async with mcp.Client(
        url or stdio, mode=mode, read_timeout_seconds=20, elicitation_callback=elicited
    ) as client:
        result = await client.call_tool("identify_bird", {})

    assert result.content[0].text == (NONE if bird is None else f"Identified bird: {bird}")


@every_era
@every_bird
@pytest.mark.filterwarnings(OLD_METHODS)
async def test_the_client_of_fastmcp_is_asked(mode: str, bird: str | None, url: str | None) -> None:
    async def elicited(message: str, _kind: Any, _params: Any, _context: Any) -> Any:
        found = answer(bird, message)
        if found is None:
            return ElicitResult(action="decline")
        return {"value": found}

    command, *words = warm(OURS, *COMMAND)
    stdio = StdioTransport(command, words, cwd=str(ROOT), keep_alive=False)
    async with fastmcp.Client(
        url or stdio, mode=mode, timeout=20, elicitation_handler=elicited
    ) as client:
        result = await client.call_tool("identify_bird", {})

    assert result.content[0].text == (NONE if bird is None else f"Identified bird: {bird}")
