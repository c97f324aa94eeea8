"""Whatever an author raises is an error that tells nothing of the program."""

import json
import logging

import pytest
from tests.asking import OLD
from tests.calls.callers import asked, caller_of, failure_in, maker, taker

from toolhaft import Depends, Server
from toolhaft.testing import Client

FORMS = ["plain", "async", "generator", "async generator"]


tool_form = pytest.mark.parametrize("form", FORMS)


@pytest.fixture
def server() -> Server:
    return Server("tested", version="1", errors="show")


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration])
@pytest.mark.parametrize("place", ["made", "called", "left"])
@pytest.mark.parametrize("dependency", ["generator", "async generator"])
@tool_form
async def test_whatever_is_raised_is_a_failed_call_and_no_dead_server(
    server: Server, form: str, dependency: str, place: str, error: type[BaseException]
) -> None:
    def tells(what: str) -> None:
        if what.endswith(place):
            raise error

    function = taker(form, maker(dependency, tells), tells)
    server.add_tool(function, name="it")
    server.add_tool(function, name="within", timeout=30, limit=1)

    async with caller_of(server) as client:
        answers = [await client.ask(name, name) for name in ("it", "within", "it", "within")]
        await client.is_alive()

    assert ["failed: " in failure_in(answer) for answer in answers] == [True] * 4


async def test_errors_of_dependencies_are_masked_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("tested", version="1")

    async def dependency() -> str:
        raise ValueError("secret")

    @server.tool
    def it(_: str = Depends(dependency)) -> str:
        return "never"

    with caplog.at_level(logging.ERROR):
        async with Client(server, OLD) as client:
            answer = await asked(client)

    assert failure_in(answer).startswith("tool 'it' failed: ValueError (error ")
    assert "secret" not in json.dumps(answer)
    assert "secret" in caplog.text
