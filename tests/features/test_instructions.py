"""What a server says of itself, which may change while it runs: instructions, also of the servers
that it includes, title and icons."""

import sys
import threading
from typing import Any

import pytest
from msgspec import UNSET
from tests.asking import NEW, OLD
from tests.asking import told as told_of

from toolhaft import Icon, Server
from toolhaft.features.instructions import Instructions
from toolhaft.features.providers.prefix import Prefix
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


# What else a server says of itself


@both_eras
async def test_title_website_and_icons_can_be_changed_at_run_time(revision: str) -> None:
    server = Server("changing", version="1", title="One", website_url="https://one.example")
    server.add_tool(lambda: "done", name="it")
    server.title = "Two"
    server.description = "What it is for."
    server.website_url = None
    server.icons = [Icon(src="https://two.example/icon.png")]

    async with Client(server, revision) as client:
        await client.call("it")
        told = client.server_info

    assert told is not None
    assert (told.name, told.title, told.description) == ("changing", "Two", "What it is for.")
    assert told.website_url is UNSET
    assert told.icons == [Icon(src="https://two.example/icon.png")]
    assert (server.title, server.website_url, len(server.icons)) == ("Two", None, 1)


def test_icons_that_are_one_text_are_refused_by_that_text() -> None:
    server = Server("changing", version="1")

    with pytest.raises(TypeError, match=r"must be a list of Icon.*, not 'https://two"):
        server.icons = "https://two.example/i.png"  # type: ignore[assignment]


async def test_results_since_2026_carry_what_is_said_now() -> None:
    server = Server("changing", version="1", title="One")
    server.add_tool(lambda: "done", name="it")
    async with Client(server, NEW) as client:
        server.title = None
        server.icons = []
        result = await told_of(client, "tools/call", name="it", arguments={})

    assert result["_meta"]["io.modelcontextprotocol/serverInfo"] == {
        "name": "changing",
        "version": "1",
    }


@pytest.mark.parametrize("name", ["title", "description", "website_url", "icons"])
def test_what_is_of_the_wrong_type_is_refused_and_changes_nothing(name: str) -> None:
    server = Server("changing", version="1", title="One")
    before = getattr(server, name)

    with pytest.raises(TypeError):
        setattr(server, name, 5)
    assert getattr(server, name) == before


def test_servers_that_are_included_from_several_threads_are_all_heard() -> None:
    outer, begun = Instructions(None), threading.Barrier(4)
    texts = [[f"{thread} says {number}" for number in range(500)] for thread in range(4)]

    def include(said: list[str]) -> None:
        begun.wait()
        for text in said:
            outer.include(Instructions("passing by"), Prefix(None))()
            outer.include(Instructions(text), Prefix(None))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=include, args=(said,)) for said in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)

    whole = outer.whole()
    assert whole is not None
    assert sorted(whole.split("\n\n")) == sorted(text for said in texts for text in said)
