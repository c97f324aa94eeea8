"""Instructions: they may change while the server runs, and those of included servers are added."""

from typing import Any

import pytest
from tests.asking import NEW, OLD

from toolhaft import Server
from toolhaft.testing import Client

both_eras = pytest.mark.parametrize("revision", [OLD, NEW])


async def told(server: Server, revision: str = NEW) -> str | None:
    async with Client(server, revision) as client:
        return client.instructions


@both_eras
@pytest.mark.parametrize("first", ["one", "", None])
@pytest.mark.parametrize("second", ["two", "", None])
async def test_they_can_be_changed_at_run_time(
    revision: str, first: str | None, second: str | None
) -> None:
    server = Server("changing", version="1", instructions=first)
    before = await told(server, revision)
    server.instructions = second

    assert (before, server.instructions) == (first, second)
    assert await told(server, revision) == second


def test_what_is_no_text_is_refused_and_changes_nothing() -> None:
    server = Server("changing", version="1", instructions="one")
    wrong: Any = 5

    with pytest.raises(TypeError, match="instructions must be a str"):
        server.instructions = wrong
    assert server.instructions == "one"


@both_eras
async def test_those_of_an_included_server_are_added(revision: str) -> None:
    server = Server("whole", version="1", instructions="Be kind.")
    server.include(Server("part", version="1", instructions="Log first."), "git")

    assert await told(server, revision) == (
        "Be kind.\n\nAbout the tools and prompts whose names begin with git_ here:\nLog first."
    )
    assert server.instructions == "Be kind."


async def test_without_a_prefix_there_is_nothing_to_explain() -> None:
    server = Server("whole", version="1")
    server.include(Server("part", version="1", instructions="Log first."))

    assert await told(server) == "Log first."


async def test_they_follow_the_included_server_and_leave_with_it() -> None:
    part = Server("part", version="1")
    server = Server("whole", version="1", instructions="Be kind.")
    inclusion = server.include(part)
    silent = await told(server)
    part.instructions = "Log first."
    talking = await told(server)
    inclusion.remove()

    assert silent == "Be kind."
    assert talking == "Be kind.\n\nLog first."
    assert await told(server) == "Be kind."


async def test_they_can_be_left_out() -> None:
    server = Server("whole", version="1")
    server.include(Server("part", version="1", instructions="Log first."), instructions=False)

    assert await told(server) is None


async def test_those_of_a_server_in_an_included_one_are_added_as_well() -> None:
    inner = Server("inner", version="1", instructions="Innermost.")
    middle = Server("middle", version="1", instructions="")
    outer = Server("outer", version="1", instructions="Outermost.")
    middle.include(inner)
    outer.include(middle)

    assert await told(outer) == "Outermost.\n\nInnermost."
