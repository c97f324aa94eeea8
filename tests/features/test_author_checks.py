"""What an author is told when a decorator or a setting is not what it should be."""

import re
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from tests.asking import ask

import toolhaft
from toolhaft import (
    Cache,
    Complete,
    Header,
    Icon,
    Limits,
    Listener,
    ResourceError,
    Server,
    ToolError,
)
from toolhaft.testing import Client, assert_error, requests


def make() -> Server:
    return Server("made", version="1")


def greet() -> str:
    return "hello"


def test_an_unknown_option_of_a_tool_is_named_with_those_that_exist() -> None:
    options: dict[str, Any] = {"readonly": True}

    with pytest.raises(
        TypeError, match=r"knows no 'readonly'; did you mean 'read_only'\? it takes name, "
    ):
        make().tool(**options)


def test_an_unknown_option_of_a_resource_is_refused_before_it_is_applied() -> None:
    options: dict[str, Any] = {"mime": "text/plain"}

    with pytest.raises(TypeError, match=r"@server.resource knows no 'mime'; .*mime_type"):
        make().resource("a://b", **options)


def test_a_misspelt_setting_of_a_server_is_told_from_the_one_that_was_meant() -> None:
    wrong: Any = {"versoin": "1"}

    words = r"Server\(\) knows no 'versoin'; did you mean 'version'\? it takes version, title, "
    with pytest.raises(TypeError, match=words):
        Server("made", **wrong)


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


async def generator(server: Server) -> AsyncGenerator[int]:
    yield 1


async def coroutine(server: Server) -> int:
    return 1


def plain(server: Server) -> Generator[int]:
    yield 1


@asynccontextmanager
async def without_server() -> AsyncGenerator[int]:
    yield 1


@asynccontextmanager
async def right(server: Server, *, value: int = 1) -> AsyncGenerator[int]:
    yield value


@pytest.mark.parametrize(
    ("lifespan", "words"),
    [
        (generator, "lifespan is an async generator; put @contextlib.asynccontextmanager above"),
        (coroutine, "lifespan is a coroutine function; write it as: @asynccontextmanager"),
        (plain, "lifespan is a plain generator; write it as: @asynccontextmanager"),
        (without_server, "called with the server: too many positional arguments; write it as"),
        (without_server(), "lifespan is what the function gives when it is called"),
    ],
    ids=["generator", "coroutine", "plain", "without the server", "called"],
)
def test_a_lifespan_that_cannot_be_entered_is_told_how(lifespan: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Server("made", lifespan=lifespan)


class Opened:
    """A lifespan may be a class, or anything else that gives what can be entered."""

    def __init__(self, server: Server) -> None: ...
    async def __aenter__(self) -> int:
        return 1

    async def __aexit__(self, *_: object) -> None: ...


@pytest.mark.parametrize("lifespan", [right, partial(right, value=2), Opened, lambda s: right(s)])
async def test_a_lifespan_that_can_be_entered_is_taken(lifespan: Any) -> None:
    async with Client(Server("made", version="1", lifespan=lifespan)) as client:
        assert client is not None


@pytest.mark.parametrize(
    "settings",
    [{"errors": "shw"}, {"page_size": 0}, {"page_size": "a"}, {"limits": 5}],
    ids=str,
)
def test_a_setting_that_means_nothing_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=next(iter(settings))):
        Server("made", **settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"version": 1.0}, "Server: version must be a str, not 1.0"),
        ({"title": 5}, "Server: title must be a str, not 5"),
        ({"instructions": ["a"]}, "Server: instructions must be a str"),
        ({"icons": ["a.png"]}, r"Server: icons must be a list of Icon\(…\)"),
        ({"providers": 5}, "Server: providers must be a list of objects, not 5"),
        ({"lifespan": 5}, "Server: lifespan must be a function that takes the server, not 5"),
        ({"secret": 5}, "secret must be a str or bytes, or several of them, not int"),
        ({"secret": [5]}, "secret must be a str or bytes, or several of them, not int"),
        ({"middleware": greet}, "middleware must be a list of functions, not .*greet"),
        ({"middleware": ["timed"]}, r"middleware must be a list of functions, not \['timed'\]"),
    ],
    ids=[
        "version",
        "title",
        "instructions",
        "icons",
        "providers",
        "lifespan",
        "secret",
        "secrets",
        "one middleware",
        "name of a middleware",
    ],
)
def test_a_setting_of_the_wrong_type_is_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"icons": 5}, r"icons must be a list of Icon\(…\), not 5"),
        ({"icons": Icon("https://example.org/a.png")}, r"icons must be a list of Icon\(…\)"),
        ({"icons": "a.png"}, r"icons must be a list of Icon\(…\), not 'a.png'"),
        ({"tags": 5}, "tags must be a list of str, not 5"),
        ({"tags": "slow"}, "tags must be a list of str, not 'slow'"),
    ],
    ids=["number", "one icon", "path", "number of tags", "one tag"],
)
def test_a_list_that_is_none_is_named_by_its_keyword(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=f"tool 'greet': {words}"):
        make().add_tool(greet, **options)


@pytest.mark.parametrize("name", [5, ""], ids=["number", "empty"])
def test_whatever_is_registered_has_a_name_that_a_client_can_read(name: Any) -> None:
    server = make()

    with pytest.raises(TypeError, match="name must be a str that is not empty"):
        server.add_prompt(greet, name=name)
    with pytest.raises(TypeError, match="name must be a str that is not empty"):
        server.add_resource(greet, "a://b", name=name)
    with pytest.raises(TypeError, match="a name is a str that is not empty"):
        server.add_tool(greet, name=name)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"annotations": {"priority": 1}}, r"annotations must be Annotations\(…\) of toolhaft"),
        ({"cache": "1 h"}, r"cache must be a number of seconds or Cache\(…\), not '1 h'"),
        ({"size": True}, "size must be a number of bytes, not True"),
    ],
    ids=["annotations", "cache", "size"],
)
def test_an_option_of_a_resource_that_no_client_could_be_sent_is_refused(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=f"resource 'a://b': {words}"):
        make().add_resource(greet, "a://b", **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"title": "\ud800"}, "title cannot be told in JSON: .*surrogates not allowed"),
        ({"meta": {"a": [object()]}}, "meta cannot be told in JSON: object is nothing that JSON"),
    ],
    ids=["text", "meta"],
)
def test_what_would_make_the_list_unreadable_is_refused(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=f"tool 'greet': {words}"):
        make().add_tool(greet, **options)
    with pytest.raises(TypeError, match=f"prompt 'greet': {words}"):
        make().add_prompt(greet, **options)
    with pytest.raises(TypeError, match=f"resource 'a://b': {words}"):
        make().add_resource(greet, "a://b", **options)


@pytest.mark.parametrize("keyword", ["title", "version", "instructions", "name"])
def test_a_setting_that_cannot_be_told_is_named(keyword: str) -> None:
    settings: dict[str, Any] = {"name": "made", keyword: "\ud800"}

    with pytest.raises(TypeError, match=f"Server: {keyword} cannot be told in JSON"):
        Server(**settings)


class Words(str):
    """A text by another name, as NumPy and libraries for translations have some."""

    __slots__ = ()


async def test_a_text_by_another_name_is_a_text() -> None:
    text = Words("text")
    server = Server(text, version=text, title=text, instructions=text)
    server.add_tool(greet, name=text, title=text, tags=[text], meta={text: text})

    async with Client(server, revision="2025-11-25") as client:
        [tool] = await client.list_tools()

        assert (client.server_info and client.server_info.title) == client.instructions == "text"
        assert (tool.name, tool.title) == ("text", "text")
        assert await client.call("text") == "hello"


def test_a_hint_that_is_none_is_named_with_its_tool() -> None:
    wrong: Any = "yes"

    with pytest.raises(TypeError, match="tool 'greet': read_only must be True or False, not 'yes'"):
        make().add_tool(greet, read_only=wrong)


def test_a_cache_is_for_one_user_or_for_everybody() -> None:
    scope: Any = "shared"

    with pytest.raises(ValueError, match='Cache: scope is "public" or "private", not \'shared\''):
        Cache(60, scope)


def test_a_uri_that_is_no_text_is_refused() -> None:
    uri: Any = 5

    with pytest.raises(TypeError, match="resource 5: uri is str, not int"):
        make().add_resource(greet, uri)


def test_a_header_is_named_by_a_text() -> None:
    name: Any = 5

    with pytest.raises(TypeError, match="Header: name is str, not int"):
        Header(name)


def test_an_error_of_a_resource_tells_the_order_of_its_arguments() -> None:
    wrong: Any = "the disk is full"

    with pytest.raises(TypeError, match="ResourceError takes a code and then the words"):
        ResourceError(wrong, "2001")


def test_the_handle_of_a_resource_that_is_not_there_is_looked_for_as_a_resource() -> None:
    with pytest.raises(KeyError, match="there is no resource named 'a://b'"):
        make().remove_resource("a://b")


FIXED = (
    *("name", "version", "providers", "middleware", "lifespan", "store", "bus", "secret"),
    *("page_size", "limits", "errors", "log_traffic", "info"),
)


@pytest.mark.parametrize("name", FIXED)
def test_a_setting_that_cannot_change_any_more_is_refused_with_what_to_do(name: str) -> None:
    server = make()

    with pytest.raises(AttributeError, match=rf"{name} of a Server is settled .*Server\(…"):
        setattr(server, name, None)


def test_what_a_server_may_say_anew_and_what_an_author_keeps_on_it_can_be_set() -> None:
    server: Any = make()

    server.title, server.of_the_author = "Made", 7

    assert (server.title, server.of_the_author) == ("Made", 7)


def test_the_name_of_a_handle_cannot_be_set() -> None:
    handle: Any = make().add_tool(greet)

    with pytest.raises(AttributeError):
        handle.name = "other"


MISSPELT: list[tuple[str, Callable[..., Any], str, str]] = [
    ("add_tool()", partial(make().add_tool, greet), "timout", "timeout"),
    ("add_resource()", partial(make().add_resource, greet, "a://b"), "mimeType", "mime_type"),
    ("add_prompt()", partial(make().add_prompt, greet), "titel", "title"),
    ("@server.tool", make().tool, "timout", "timeout"),
    ("@server.resource", partial(make().resource, "a://b"), "cach", "cache"),
    ("@server.prompt", make().prompt, "titel", "title"),
    ("@tool", toolhaft.tool, "timout", "timeout"),
    ("@resource", partial(toolhaft.resource, "a://b"), "timout", "timeout"),
    ("@prompt", toolhaft.prompt, "timout", "timeout"),
    ("Listener()", partial(Listener, 0), "gaurd", "guard"),
    ("include()", partial(make().include, object()), "discovr", "discover"),
    ("run()", make().run, "htp", "http"),
    ("run()", Listener(0).run, "worker", "workers"),
    ("attach()", make().attach, "sokcet", "socket"),
]


@pytest.mark.parametrize(("what", "function", "name", "meant"), MISSPELT)
def test_a_misspelt_keyword_is_told_from_the_one_that_was_meant(
    what: str, function: Callable[..., Any], name: str, meant: str
) -> None:
    words = re.escape(f"{what} knows no {name!r}; did you mean {meant!r}? it takes ")
    with pytest.raises(TypeError, match=f"^{words}"):
        function(**{name: 1})


class Marked:
    """Something to include."""

    @toolhaft.tool
    def greet(self) -> str:
        return "hello"


def _each(function: Callable[..., Any], *flags: str) -> list[tuple[Callable[..., Any], str]]:
    return [(function, flag) for flag in flags]


FLAGS = [
    *_each(
        partial(make().add_tool, greet), "thread", "replace", "shared", "strict", "needs_session"
    ),
    *_each(partial(make().add_resource, greet, "a://b"), "thread", "replace", "shared", "raw"),
    *_each(partial(make().add_prompt, greet), "thread", "replace", "shared"),
    *_each(make().add_tool(greet).update, "thread", "strict"),
    *_each(partial(make().include, Marked()), "thread", "discover", "instructions"),
    *_each(partial(make().include, make()), "thread", "discover", "instructions"),
    *_each(partial(Listener, 0), "legacy_sse", "metrics"),
    *_each(partial(Listener(0).mount, "/mcp", make()), "legacy_sse"),
    *_each(make().asgi, "legacy_sse"),
    *_each(Listener(0).stop, "now"),
]


@pytest.mark.parametrize(("function", "flag"), FLAGS)
def test_a_flag_that_is_neither_true_nor_false_is_refused(
    function: Callable[..., Any], flag: str
) -> None:
    with pytest.raises(TypeError, match=f"{flag} must be True or False, not 'no'"):
        function(**{flag: "no"})
