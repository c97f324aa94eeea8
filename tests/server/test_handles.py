"""What a handle tells of its thing: what clients would be told now."""

from typing import Annotated

import pytest

from toolhaft import Server
from toolhaft.testing import Client


def add(a: Annotated[int, "the first"], b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def serving() -> Server:
    server = Server("handles", version="1")
    server.add_tool(add, title="Adder")
    server.add_resource(lambda: "text", "Notes://one", name="one", mime_type="text/markdown")
    server.add_resource(lambda name: name, "notes://{name}", name="any", title="Any note")

    @server.prompt
    def greet(name: str, tone: str = "kind") -> str:
        """Greet a person.

        Args:
            name: how to call them.
        """
        return name

    return server


async def test_a_tool_tells_what_is_published_of_it() -> None:
    server = serving()
    handle = server.tools["add"]
    async with Client(server) as client:
        [listed] = await client.list_tools()

    assert (handle.name, handle.title, handle.description) == (
        "add",
        "Adder",
        "Add two numbers.",
    )
    assert handle.input_schema == listed.input_schema
    assert handle.output_schema == {"type": "integer"}


def test_a_tool_without_a_promise_has_no_output_schema() -> None:
    server = Server("handles", version="1")
    handle = server.add_tool(lambda: "text", name="text")

    assert (handle.title, handle.description, handle.output_schema) == (None, None, None)


def test_resources_tell_their_uri_and_their_type() -> None:
    server = serving()
    one, template = server.resources["notes://one"], server.resources["notes://{name}"]

    assert (one.name, one.uri, one.mime_type) == ("notes://one", "Notes://one", "text/markdown")
    assert (template.uri, template.title, template.mime_type) == (
        "notes://{name}",
        "Any note",
        None,
    )


def test_a_prompt_tells_its_arguments() -> None:
    handle = serving().prompts["greet"]
    name, tone = handle.arguments

    assert handle.description == "Greet a person."
    assert (name.name, name.description, name.required) == ("name", "how to call them.", True)
    assert tone.name == "tone"
    assert not tone.required


def test_what_a_handle_tells_is_a_copy() -> None:
    server = serving()
    server.tools["add"].input_schema["properties"].clear()
    server.prompts["greet"].arguments[0].name = "other"

    assert list(server.tools["add"].input_schema["properties"]) == ["a", "b"]
    assert server.prompts["greet"].arguments[0].name == "name"


def test_a_handle_follows_updates_and_knows_what_is_disabled() -> None:
    server = serving()
    handle = server.tools["add"]
    handle.update(title="Other", description="Words.")
    handle.disable()

    assert (handle.title, handle.description) == ("Other", "Words.")


def test_an_included_tool_tells_the_same_under_its_name() -> None:
    outer = Server("outer", version="1")
    outer.include(serving(), "in")
    handle = outer.tools["in_add"]

    assert (handle.name, handle.title) == ("in_add", "Adder")
    assert list(handle.input_schema["properties"]) == ["a", "b"]


def test_a_handle_of_what_was_removed_tells_nothing() -> None:
    server = serving()
    handle = server.tools["add"]
    handle.remove()

    for told in ("title", "description", "input_schema", "output_schema"):
        with pytest.raises(KeyError, match="it was removed"):
            getattr(handle, told)
