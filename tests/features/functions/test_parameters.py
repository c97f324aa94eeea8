"""What a resource may return and take: nothing at all, and variables that are not named."""

from typing import Annotated, Any

import pytest
from tests.asking import NEW, OLD, outcome

from toolhaft import Complete, ResourceInfo, Server
from toolhaft.features.functions.parameters import Unsafe


async def read(server: Server, uri: str, revision: str = NEW) -> Any:
    return await outcome(server, "resources/read", revision=revision, uri=uri)


# Nothing


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_a_resource_that_returns_none_is_an_empty_text(revision: str) -> None:
    server = Server("reading", version="1")
    server.add_resource(lambda: None, "empty://it", name="it")

    [contents] = (await read(server, "empty://it", revision))["contents"]

    assert contents == {"uri": "empty://it", "text": "", "mimeType": "text/plain"}


async def test_an_empty_text_has_the_type_that_the_author_gave() -> None:
    server = Server("reading", version="1")
    server.add_resource(lambda: None, "empty://it", name="it", mime_type="text/markdown")

    [contents] = (await read(server, "empty://it"))["contents"]

    assert (contents["text"], contents["mimeType"]) == ("", "text/markdown")


async def test_none_from_a_handler_is_an_empty_text() -> None:
    class Empty:
        def resources(self) -> list[ResourceInfo]:
            return [ResourceInfo("empty://it")]

        def read_resource(self, uri: str) -> None: ...

    server = Server("reading", version="1", providers=[Empty()])

    [contents] = (await read(server, "empty://it"))["contents"]

    assert contents["text"] == ""


async def test_none_breaks_the_annotation_str() -> None:
    server = Server("reading", version="1")

    @server.resource("text://it")
    def it() -> str:
        return None  # type: ignore[return-value]

    assert (await read(server, "text://it"))["code"] == -32603


# Variables


async def test_a_template_may_take_all_its_variables_at_once() -> None:
    server = Server("reading", version="1")

    @server.resource("org://{folder}/{file}{?line}")
    def any_file(**params: str) -> dict[str, str]:
        return params

    all_of_them = await read(server, "org://a/b%20c?line=3")
    without = await read(server, "org://a/b")

    assert all_of_them["contents"][0]["text"] == '{"folder":"a","file":"b c","line":"3"}'
    assert without["contents"][0]["text"] == '{"folder":"a","file":"b"}'


async def test_variables_that_are_named_are_converted_and_the_others_are_strings() -> None:
    server = Server("reading", version="1")

    @server.resource("org://{file}/{line}/{word}")
    def part(line: int, **params: str) -> list[Any]:
        return [line + 1, params]

    result = await read(server, "org://notes/7/x")

    assert result["contents"][0]["text"] == '[8,{"file":"notes","word":"x"}]'


async def test_a_variable_with_a_dot_reaches_the_rest() -> None:
    server = Server("reading", version="1")
    server.add_resource(lambda **params: params, "org://{file.name}", name="any")

    result = await read(server, "org://notes")

    assert result["contents"][0]["text"] == '{"file.name":"notes"}'


async def test_a_variable_that_is_not_named_must_not_climb_either() -> None:
    server = Server("reading", version="1")

    @server.resource("file:///{+path}/{name}")
    def file(name: Annotated[str, Unsafe], **params: str) -> str:
        return f"{params['path']} {name}"

    climbing = await read(server, "file:///..%2Fetc/passwd")
    allowed = await read(server, "file:///etc/..")

    assert climbing["message"].startswith("resource not found")
    assert allowed["contents"][0]["text"] == "etc .."


async def test_variables_that_are_not_named_have_no_suggestions() -> None:
    server = Server("reading", version="1")

    @server.resource("org://{file}/{kind}")
    def file(kind: Annotated[str, "one of two"], **params: str) -> str:
        return kind

    server.add_prompt(_suggesting(Complete(lambda typed: [typed])), name="so that it completes")
    ref = {"type": "ref/resource", "uri": "org://{file}/{kind}"}
    argument = {"name": "file", "value": "a"}

    result = await outcome(server, "completion/complete", ref=ref, argument=argument)

    assert result["completion"]["values"] == []


def _suggesting(complete: Any) -> Any:
    def prompt(word: Annotated[str, complete]) -> str:
        return word

    return prompt


def test_a_fixed_uri_fills_no_variables() -> None:
    server = Server("reading", version="1")

    with pytest.raises(TypeError, match=r"\*\*params is filled by nothing: the URI has no var"):
        server.add_resource(lambda **params: "text", "text://it", name="it")


def test_a_prompt_names_its_arguments() -> None:
    server = Server("reading", version="1")

    with pytest.raises(TypeError, match=r"\*\*rest is no argument that a client could be told of"):
        server.add_prompt(lambda **rest: "text", name="it")


def test_parameters_of_a_template_are_still_matched_by_name() -> None:
    server = Server("reading", version="1")

    def line(number: int, **params: str) -> str:
        return params["file"]

    with pytest.raises(TypeError, match="nothing fills the parameter number"):
        server.add_resource(line, "org://{file}")


@pytest.mark.parametrize("kind", [int, Annotated[str, Unsafe], dict[str, str]])
def test_variables_that_are_not_named_are_strings_and_nothing_else(kind: Any) -> None:
    def part(**others: Any) -> str:
        return ""

    part.__annotations__["others"] = kind
    server = Server("reading", version="1")

    with pytest.raises(TypeError, match=r"part://{x}': \*\*others has its values as str, not as"):
        server.add_resource(part, "part://{x}")
