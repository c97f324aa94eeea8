"""What an author is told when a decorator or a setting is not what it should be."""

from typing import Any

import pytest
from tests.asking import ask

from toolhaft import Complete, Limits, Server, ToolError
from toolhaft.testing import assert_error, requests


def make() -> Server:
    return Server("made", version="1")


def greet() -> str:
    return "hello"


def test_an_unknown_option_of_a_tool_is_named_with_those_that_exist() -> None:
    options: dict[str, Any] = {"readonly": True}

    with pytest.raises(TypeError, match=r"no option 'readonly'; it has name, .*read_only"):
        make().tool(**options)


def test_an_unknown_option_of_a_resource_is_refused_before_it_is_applied() -> None:
    options: dict[str, Any] = {"mime": "text/plain"}

    with pytest.raises(
        TypeError, match=r"@server.resource has no option 'mime'; it has .*mime_type"
    ):
        make().resource("a://b", **options)


def test_a_name_without_its_keyword_is_told_the_keyword() -> None:
    wrong: Any = "my_name"

    with pytest.raises(TypeError, match=r"@server.prompt\(name='my_name'\)"):
        make().prompt(wrong)


def test_a_resource_without_a_uri_is_told_that_it_needs_one() -> None:
    wrong: Any = greet

    with pytest.raises(TypeError, match="needs a URI"):
        make().resource(wrong)


def test_a_uri_without_a_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with a scheme"):
        make().add_resource(greet, "notes")


def test_a_resource_may_replace_another_by_its_decorator() -> None:
    server = make()
    server.add_resource(greet, "a://b")

    server.resource("a://b", replace=True)(greet)

    with pytest.raises(ValueError, match="another name, or pass replace=True"):
        server.resource("a://b")(greet)


def test_a_context_without_its_annotation_is_not_taken_for_an_argument() -> None:
    def tool(ctx) -> str:  # type: ignore[no-untyped-def]
        return str(ctx)

    with pytest.raises(TypeError, match="annotate 'ctx' as Context"):
        make().add_tool(tool)


def test_a_completer_that_is_no_function_is_refused() -> None:
    wrong: Any = ["a", "b"]

    with pytest.raises(TypeError, match="takes a function"):
        Complete(wrong)


@pytest.mark.parametrize(
    "settings",
    [{"errors": "shw"}, {"page_size": 0}, {"page_size": "a"}, {"limits": 5}],
    ids=str,
)
def test_a_setting_that_means_nothing_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(settings))):
        Server("made", **settings)


@pytest.mark.parametrize("name", [None, 5, ""])
def test_a_server_needs_a_name(name: Any) -> None:
    with pytest.raises(TypeError, match="needs a name"):
        Server(name)


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Limits\(threads=0\)"):
        Limits(threads=0)


async def test_the_text_of_a_tool_error_in_a_resource_is_sent() -> None:
    server = make()

    @server.resource("a://b")
    def broken() -> str:
        raise ToolError("the disk is away")

    answer = await ask(server, "resources/read", uri="a://b")

    assert answer["error"] == {"code": -32603, "message": "the disk is away"}


async def test_a_static_resource_is_found_whatever_the_case_of_its_scheme() -> None:
    server = make()
    server.add_resource(greet, "notes://All")

    found = await ask(server, "resources/read", uri="NOTES://All")
    missing = await ask(server, "resources/read", uri="notes://all")

    assert found["result"]["contents"][0]["text"] == "hello"
    assert found["result"]["contents"][0]["uri"] == "NOTES://All"
    assert missing["error"]["code"] == -32602


async def test_an_unknown_tool_is_answered_with_those_that_exist() -> None:
    server = make()
    server.add_tool(greet)

    answer = await ask(server, "tools/call", name="great")

    assert answer["error"]["message"] == "unknown tool: 'great'; there are greet"


async def test_a_prompt_that_returns_what_is_no_message_fails() -> None:
    server = make()

    @server.prompt
    def wrong() -> Any:
        return {"role": "user", "content": "hi"}

    answer = await ask(server, "prompts/get", name="wrong")

    assert answer["error"]["code"] == -32603
    assert "prompts/get 'wrong' failed: TypeError" in answer["error"]["message"]


async def test_a_revision_with_a_handshake_in_an_envelope_is_told_to_shake_hands() -> None:
    request = requests.of("2026-07-28").server_discover()
    request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2025-11-25"

    assert_error(await make().handle(request), -32022, "begins with `initialize`")
