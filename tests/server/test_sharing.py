"""`shared=True`: a function that several register stays until all of them have removed it."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.server.clients import CLIENTS, Connect, following

from toolhaft import Server, ToolHandle, prompt, resource, tool
from toolhaft.testing import Client

every_client = pytest.mark.parametrize("connect", CLIENTS.values(), ids=CLIENTS)


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def other(a: int, b: int) -> int:
    """Subtract."""
    return a - b


def test_it_stays_until_both_owners_have_removed_it() -> None:
    server = Server("shared", version="1")
    first, second = server.add_tool(add, shared=True), server.add_tool(add, shared=True)

    first.remove()
    between = list(server.tools)
    second.remove()

    assert between == ["add"]
    assert list(server.tools) == []


def test_a_registration_that_does_not_share_is_told_how_to() -> None:
    server = Server("shared", version="1")
    server.add_tool(add, shared=True)

    with pytest.raises(ValueError, match="already, which is shared; pass shared=True here as well"):
        server.add_tool(add)


def test_an_owner_removes_its_share_once() -> None:
    server = Server("shared", version="1")
    first, second = server.add_tool(add, shared=True), server.add_tool(add, shared=True)
    first.remove()

    with pytest.raises(KeyError):
        first.remove()
    with pytest.raises(KeyError):
        first.disable()
    assert second.enabled


def test_blocks_may_overlap() -> None:
    server = Server("shared", version="1")
    with server.add_tool(add, shared=True):
        with server.add_tool(add, shared=True):
            pass
        assert list(server.tools) == ["add"]
    assert list(server.tools) == []


def test_to_remove_by_name_takes_one_share() -> None:
    server = Server("shared", version="1")
    server.add_tool(add, shared=True)
    server.add_tool(add, shared=True)

    server.remove_tool("add")
    assert list(server.tools) == ["add"]
    server.remove_tool("add")
    assert list(server.tools) == []


def test_the_options_of_the_first_count() -> None:
    server = Server("shared", version="1")
    server.add_tool(add, shared=True, title="First")
    second = server.add_tool(add, shared=True, title="Second")

    assert second.title == "First"


@every_client
async def test_clients_hear_of_the_first_share_and_of_the_last(connect: Connect) -> None:
    server = Server("shared", version="1")
    server.add_tool(other)
    async with connect(server) as client, following(client) as heard:
        first = server.add_tool(add, shared=True)
        added = await heard.next()
        second = server.add_tool(add, shared=True)
        first.remove()
        in_between = [each.name for each in await client.list_tools()]
        second.remove()
        removed = await heard.next()

        assert added.method == removed.method == "notifications/tools/list_changed"
        assert in_between == ["other", "add"]
        assert [each.name for each in await client.list_tools()] == ["other"]
        assert heard.so_far() == []


def test_resources_and_prompts_are_shared_as_well() -> None:
    server = Server("shared", version="1")

    def read() -> str:
        return "text"

    handles = [
        handle
        for _ in range(2)
        for handle in (
            server.add_resource(read, "text://it", shared=True),
            server.add_prompt(read, shared=True),
        )
    ]
    for handle in handles[:2]:
        handle.remove()

    assert (list(server.resources), list(server.prompts)) == (["text://it"], ["read"])
    for handle in handles[2:]:
        handle.remove()
    assert (list(server.resources), list(server.prompts)) == ([], [])


class Shared:
    @tool(shared=True)
    def count(self) -> int:
        return 1

    @resource("count://it", shared=True)
    def it(self) -> str:
        return "1"

    @prompt(shared=True)
    def ask(self) -> str:
        return "count"


async def test_an_object_may_be_included_by_two() -> None:
    server, provider = Server("shared", version="1"), Shared()
    first, second = server.include(provider), server.include(provider)
    first.remove()
    first.remove()
    async with Client(server) as client:
        assert await client.call("count") == 1
    second.remove()

    assert (list(server.tools), list(server.resources), list(server.prompts)) == ([], [], [])


def test_another_function_is_refused() -> None:
    server = Server("shared", version="1")
    server.add_tool(add, shared=True)

    with pytest.raises(ValueError, match="the tool 'add' is shared, and is of another function"):
        server.add_tool(other, name="add", shared=True)


def test_all_of_them_have_to_share() -> None:
    server = Server("shared", version="1")
    server.add_tool(add)
    server.add_tool(other, shared=True)

    with pytest.raises(ValueError, match="'add' already, which is not shared; pass shared=True to"):
        server.add_tool(add, shared=True)
    with pytest.raises(ValueError, match="there is a tool 'other' already"):
        server.add_tool(other)


def test_what_is_shared_is_not_replaced_by_the_same_registration() -> None:
    with pytest.raises(TypeError, match="replace takes a name away, and shared keeps it"):
        Server("shared", version="1").add_tool(add, shared=True, replace=True)


def test_what_replaces_it_is_of_no_owner() -> None:
    server = Server("shared", version="1")
    first = server.add_tool(add, shared=True)
    server.add_tool(other, name="add", replace=True)

    with pytest.raises(KeyError):
        first.remove()
    assert server.tools["add"].description == "Subtract."


def test_whether_it_is_shared_cannot_be_updated() -> None:
    handle = Server("shared", version="1").add_tool(add)

    with pytest.raises(TypeError, match="update cannot change shared"):
        handle.update(shared=True)


class Owners(RuleBasedStateMachine):
    """Any number of owners that come and go in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.server = Server("shared", version="1")
        self.handles: list[ToolHandle] = []
        self.enabled = True

    @rule()
    def come(self) -> None:
        if not self.handles:
            self.enabled = True
        self.handles.append(self.server.add_tool(add, shared=True))

    @precondition(lambda self: self.handles)
    @rule(data=st.data())
    def go(self, data: st.DataObject) -> None:
        handle = self.handles.pop(data.draw(st.integers(0, len(self.handles) - 1)))
        handle.remove()
        with pytest.raises(KeyError):
            handle.remove()

    @precondition(lambda self: self.handles)
    @rule(data=st.data())
    def switch(self, data: st.DataObject) -> None:
        handle = self.handles[data.draw(st.integers(0, len(self.handles) - 1))]
        self.enabled = not self.enabled
        (handle.enable if self.enabled else handle.disable)()

    @invariant()
    def it_is_there_as_long_as_it_has_an_owner(self) -> None:
        assert list(self.server.tools) == (["add"] if self.handles else [])
        assert all(handle.enabled is self.enabled for handle in self.handles)


TestOwners = Owners.TestCase
TestOwners.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
