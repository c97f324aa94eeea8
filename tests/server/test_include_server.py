"""A server as a part of another: names, changes, lifespans, middleware."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
from tests.asking import told
from tests.server.clients import CLIENTS, Connect, following

from toolhaft import (
    Accepted,
    Complete,
    Context,
    NotFound,
    Server,
    ToolInfo,
    prompt,
    resource,
    tool,
)
from toolhaft.features.tools import Tool
from toolhaft.protocol.calls import Exchange, Next, Result
from toolhaft.testing import Client

every_client = pytest.mark.parametrize("connect", CLIENTS.values(), ids=CLIENTS)
Json = dict[str, Any]


def git(**options: Any) -> Server:
    """A server that is to be included."""
    server = Server("git", version="1", **options)

    @server.tool
    def log(count: int, ctx: Context) -> str:
        return f"{count} commits of {ctx.server.name}, {ctx.lifespan}"

    @server.prompt
    def commit(style: Annotated[str, Complete(lambda typed, given: ["short", "long"])]) -> str:
        return f"Write a {style} message."

    @server.resource("repo://head")
    def head() -> str:
        return "main"

    @server.resource("repo://file/{+path}")
    def file(path: str) -> str:
        if path == "lost":
            raise NotFound("no such file")
        return f"contents of {path}"

    return server


def including(*others: Server, prefix: str | None = "git") -> Server:
    server = Server("main", version="1")
    server.add_tool(lambda: "main", name="own")
    for other in others:
        server.include(other, prefix=prefix)
    return server


async def names(client: Client) -> list[str]:
    return [each.name for each in await client.list_tools()]


async def text(client: Client, name: str, **arguments: Any) -> str:
    called = await told(client, "tools/call", name=name, arguments=arguments)
    return str(called["content"][0]["text"]) if "content" in called else str(called)


async def read(client: Client, uri: str) -> Json:
    found = await told(client, "resources/read", uri=uri)
    contents: Json = found["contents"][0] if "contents" in found else found
    return contents


@asynccontextmanager
async def lifespan(server: Server) -> AsyncGenerator[str]:
    yield f"lifespan of {server.name}"


class Seen:
    """A middleware that remembers what went through it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    async def __call__(self, exchange: Exchange, call: Next) -> Result:
        about = getattr(exchange.params, "name", None) or getattr(exchange.params, "uri", "")
        self.calls.append((exchange.method, about))
        return await call(exchange)


KINDS: dict[str, Json] = {
    "plain": {},
    "lifespan": {"lifespan": lifespan},
    "middleware": {"middleware": [Seen()]},
    "both": {"lifespan": lifespan, "middleware": [Seen()]},
}
every_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)


@every_client
@every_kind
async def test_a_server_offers_what_another_one_offers(connect: Connect, options: Json) -> None:
    """Tools and prompts by joined names, resources by a prefix of the scheme."""
    async with connect(including(git(**options))) as client:
        value = "lifespan of git" if "lifespan" in options else None
        listed = await client.list_resources()
        templates = await client.list_templates()
        got = await client.prompt("git_commit", style="short")

        assert await names(client) == ["own", "git_log"]
        assert await text(client, "own") == "main"
        assert await text(client, "git_log", count=2) == f"2 commits of git, {value}"
        assert "invalid arguments" in await text(client, "git_log", count="x")
        assert [each.uri for each in listed] == ["git+repo://head"]
        assert [each.uri_template for each in templates] == ["git+repo://file/{+path}"]
        assert await read(client, "git+repo://head") == {
            "uri": "git+repo://head",
            "text": "main",
            "mimeType": "text/plain",
        }
        assert await read(client, "GIT+repo://file/a/b") == {
            "uri": "GIT+repo://file/a/b",
            "text": "contents of a/b",
            "mimeType": "text/plain",
        }
        assert got.texts == [("user", "Write a short message.")]


@every_kind
async def test_what_is_not_found_is_told_by_the_clients_own_uri(options: Json) -> None:
    async with Client(including(git(**options))) as client:
        lost = await read(client, "git+repo://file/lost")
        climbing = await read(client, "git+repo://file/../x")

    assert lost == {
        "code": -32602,
        "message": "no such file",
        "data": {"uri": "git+repo://file/lost"},
    }
    assert climbing["data"] == {"uri": "git+repo://file/../x"}


async def test_names_of_the_included_server_are_unknown_without_their_prefix() -> None:
    async with Client(including(git())) as client:
        assert "unknown tool: 'log'" in await text(client, "log", count=1)
        assert (await read(client, "repo://head"))["code"] == -32602


async def test_without_a_prefix_names_stay_as_they_are() -> None:
    async with Client(including(git(), prefix=None)) as client:
        assert await text(client, "log", count=1) == "1 commits of git, None"
        assert (await read(client, "repo://head"))["text"] == "main"


async def test_completion_works_in_an_included_server() -> None:
    async with Client(including(git())) as client:
        completed = await client.complete("git_commit", "style")

    assert completed.values == ["short", "long"]


# Live


@every_client
async def test_what_is_added_later_is_seen_and_heard_of(connect: Connect) -> None:
    other = git()
    async with connect(including(other)) as client, following(client, "git+repo://head") as heard:
        before = await names(client)
        handle = other.add_tool(lambda: "new", name="diff")

        assert before == ["own", "git_log"]
        assert (await heard.next()).method == "notifications/tools/list_changed"
        assert await names(client) == ["own", "git_log", "git_diff"]
        assert await text(client, "git_diff") == "new"
        handle.update(lambda: "newer")
        assert (await heard.next()).method == "notifications/tools/list_changed"
        assert await text(client, "git_diff") == "newer"
        other.tools["log"].disable()
        assert (await heard.next()).method == "notifications/tools/list_changed"
        assert await names(client) == ["own", "git_diff"]
        handle.remove()
        assert (await heard.next()).method == "notifications/tools/list_changed"
        assert await names(client) == ["own"]
        other.resource_updated("repo://head")
        updated = await heard.next()
        assert updated.method == "notifications/resources/updated"
        assert updated.uri == "git+repo://head"


async def test_a_server_in_a_server_in_a_server() -> None:
    inner = git(lifespan=lifespan, middleware=[Seen()])
    middle = Server("middle", version="1", middleware=[Seen()])
    outer = Server("outer", version="1")
    outer.include(middle, prefix="a")
    middle.include(inner, prefix="b")
    inner.add_tool(lambda: "late", name="late")
    async with Client(outer) as client:
        assert await names(client) == ["a_b_log", "a_b_late"]
        assert await text(client, "a_b_log", count=1) == "1 commits of git, lifespan of git"
        assert (await read(client, "a+b+repo://file/x"))["uri"] == "a+b+repo://file/x"


async def test_an_object_in_a_server_in_a_server() -> None:
    class Files:
        def tools(self) -> list[ToolInfo]:
            return [ToolInfo("list")]

        def call_tool(self, name: str, arguments: Json, ctx: Context) -> str:
            return f"{name} of {ctx.server.name}"

        def read_resource(self, uri: str) -> Any:
            return f"by the handler: {uri}"

        @resource("file://{name}")
        def file(self, name: str) -> str:
            return name

        @tool
        def marked(self) -> str:
            return "by the method"

        @prompt
        def help(self) -> str:
            return "Help."

    for options in KINDS.values():
        other = Server("other", version="1", **options)
        server = including(other, prefix="o")
        async with Client(server) as client:
            before = await names(client)
            other.include(Files(), prefix="f")

            assert before == ["own"]
            assert await names(client) == ["own", "o_f_marked", "o_f_list"]
            assert await text(client, "o_f_list") == "list of other"
            assert await text(client, "o_f_marked") == "marked of other"
            assert (await read(client, "o+f+file://a"))["text"] == "by the handler: file://a"


async def test_what_is_taken_is_refused_before_anything_is_included() -> None:
    server = Server("main", version="1")
    server.add_prompt(lambda: "mine", name="git_commit")

    with pytest.raises(ValueError, match="there is a prompt 'git_commit' already"):
        server.include(git(), prefix="git")
    assert list(server.tools) == []
    assert list(server.resources) == []


async def test_what_is_taken_in_a_server_that_includes_this_one_is_refused_here() -> None:
    other = git()
    server = including(other)
    server.add_tool(lambda: "mine", name="git_diff")

    with pytest.raises(ValueError, match="a server that includes this one has 'git_diff' already"):
        other.add_tool(lambda: "theirs", name="diff")
    assert list(other.tools) == ["log"]


def test_a_name_of_the_included_server_is_taken() -> None:
    server = including(git())

    with pytest.raises(ValueError, match="there is a tool 'git_log' already"):
        server.add_tool(lambda: "", name="git_log")


async def test_what_is_included_can_be_disabled_but_not_removed_or_updated() -> None:
    other = git()
    server = including(other)
    server.tools["git_log"].disable()
    other.tools["log"].update(title="Log")

    with pytest.raises(ValueError, match="is of an included server; remove it there"):
        server.remove_tool("git_log")
    with pytest.raises(TypeError, match="is of an included server; update it there"):
        server.tools["git_log"].update(title="x")
    async with Client(server) as client:
        assert await names(client) == ["own"]
        server.tools["git_log"].enable()
        assert (await client.tool("git_log")).title == "Log"


async def test_a_server_can_be_taken_out_again() -> None:
    other = git(lifespan=lifespan)
    server = Server("main", version="1")
    inclusion = server.include(other, prefix="git")
    inclusion.remove()
    other.add_tool(lambda: "", name="diff")

    assert list(server.tools) == []
    assert list(server.prompts) == []
    server.include(other, prefix="git")
    assert list(server.tools) == ["git_log", "git_diff"]


async def test_one_server_can_be_a_part_of_several() -> None:
    other = git()
    one, two = including(other, prefix="a"), including(other, prefix="b")
    other.add_tool(lambda: "", name="diff")

    assert list(one.tools) == ["own", "a_log", "a_diff"]
    assert list(two.tools) == ["own", "b_log", "b_diff"]


def test_no_server_is_a_part_of_itself() -> None:
    server, other = Server("a", version="1"), Server("b", version="1")
    server.include(other, prefix="b")

    with pytest.raises(ValueError, match="'a' cannot be a part of itself"):
        server.include(server, prefix="a")
    with pytest.raises(ValueError, match="'a' cannot be a part of itself"):
        other.include(server, prefix="a")


# What stands around the calls


async def test_middleware_of_an_included_server_sees_its_own_names() -> None:
    """A rule that is written for `log` must hold for `git_log`, too."""
    seen = Seen()
    async with Client(including(git(middleware=[seen]))) as client:
        await text(client, "own")
        await text(client, "git_log", count=1)
        await read(client, "git+repo://head")
        await client.prompt("git_commit", style="short")

    assert seen.calls == [
        ("tools/call", "log"),
        ("resources/read", "repo://head"),
        ("prompts/get", "commit"),
    ]


async def test_lifespans_are_entered_with_the_service_and_left_in_turn() -> None:
    events: list[str] = []

    def noted(name: str) -> Any:
        @asynccontextmanager
        async def lifespan(server: Server) -> AsyncGenerator[str]:
            events.append(f"enter {name}")
            yield name
            events.append(f"leave {name}")

        return lifespan

    server = Server("main", version="1", lifespan=noted("main"))

    @server.tool
    def own(ctx: Context) -> str:
        return str(ctx.lifespan)

    server.include(git(lifespan=noted("git")), prefix="git")
    async with Client(server) as client:
        assert await text(client, "own") == "main"
        assert await text(client, "git_log", count=1) == "1 commits of git, git"

    assert events == ["enter main", "enter git", "leave git", "leave main"]


async def test_the_lifespan_of_a_server_that_comes_late_is_entered_when_it_is_needed() -> None:
    for options in (KINDS["lifespan"], KINDS["both"]):
        server = including()
        async with Client(server) as client:
            await text(client, "own")
            server.include(git(**options), prefix="git")

            assert await text(client, "git_log", count=1) == "1 commits of git, lifespan of git"


async def test_a_lifespan_that_fails_fails_its_own_calls_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @asynccontextmanager
    async def failing(server: Server) -> AsyncGenerator[None]:
        raise OSError("no disk")
        yield

    async with Client(including(git(lifespan=failing))) as client:
        assert await text(client, "own") == "main"
        assert "-32603" in await text(client, "git_log", count=1)
    assert "no disk" in caplog.text


async def test_a_tool_of_an_included_server_can_ask_its_client() -> None:
    for options in KINDS.values():
        other = Server("other", version="1", **options)

        @other.tool
        async def order(ctx: Context) -> str:
            answer = await ctx.elicit("How many?", int)
            return f"{answer.value} pieces" if isinstance(answer, Accepted) else "none"

        server = including(other, prefix="shop")
        async with Client(server, answers={"How many?": 3}) as client:
            assert await client.call("shop_order") == "3 pieces"


async def test_changes_of_several_servers_at_once_lose_nothing() -> None:
    others = [git() for _ in range(4)]
    server = Server("main", version="1")
    for number, other in enumerate(others):
        server.include(other, prefix=f"n{number}")

    def work(other: Server) -> None:
        for step in range(25):
            other.add_tool(lambda: "", name=f"t{step}")

    await asyncio.gather(*(asyncio.to_thread(work, other) for other in others))

    assert len(server.tools) == 4 * 26


async def test_errors_are_told_as_the_included_server_says() -> None:
    """Whether its calls take a detour or not."""
    for options in KINDS.values():
        other = Server("other", version="1", errors="show", **options)
        other.add_tool(lambda: 1 / 0, name="divide")
        async with Client(including(other, prefix="o")) as client:
            assert (await text(client, "o_divide")).endswith("ZeroDivisionError: division by zero")


async def test_a_disabled_name_hides_what_a_source_lists_under_it() -> None:
    class Listing:
        def tools(self) -> list[ToolInfo]:
            return [ToolInfo("own")]

        def call_tool(self, name: str, arguments: Json) -> str:
            return "listed"

    server = including()
    server.include(Listing())
    server.tools["own"].disable()
    async with Client(server) as client:
        assert await names(client) == []
        assert "-32602" in await text(client, "own")


def test_what_is_taken_further_out_is_refused_here_too() -> None:
    inner, middle, outer = (Server(name, version="1") for name in ("inner", "middle", "outer"))
    middle.include(inner, prefix="b")
    outer.include(middle, prefix="a")
    outer.add_tool(lambda: "", name="a_b_log")

    with pytest.raises(ValueError, match="has 'a_b_log' already"):
        inner.add_tool(lambda: "", name="log")
    assert list(middle.tools) == []


async def test_what_replaces_something_included_stays() -> None:
    other = git()
    server = including(other)
    server.add_tool(lambda: "replaced", name="git_log", replace=True)
    other.tools["log"].update(title="Log")
    async with Client(server) as client:
        assert await text(client, "git_log") == "replaced"
    other.remove_tool("log")
    assert list(server.tools) == ["own", "git_log"]


async def test_a_cursor_into_lists_is_none_where_no_list_is_evaluated() -> None:
    async with Client(including(git())) as client:
        assert (await told(client, "tools/list", cursor="tool-0-1"))["code"] == -32602


@every_kind
@pytest.mark.parametrize("around", KINDS.values(), ids=KINDS)
async def test_resources_are_read_through_two_inclusions(options: Json, around: Json) -> None:
    middle = Server("middle", version="1", **around)
    middle.include(git(**options), prefix="git")
    for prefix, joined in ((None, "git+repo"), ("a", "a+git+repo")):
        async with Client(including(middle, prefix=prefix)) as client:
            head, file, lost = [
                await read(client, f"{joined}://{path}")
                for path in ("head", "file/one", "file/lost")
            ]

            assert (head["uri"], head["text"]) == (f"{joined}://head", "main")
            assert (file["uri"], file["text"]) == (f"{joined}://file/one", "contents of one")
            assert lost["data"] == {"uri": f"{joined}://file/lost"}


def test_an_object_is_included_as_a_whole_or_not_at_all_further_out() -> None:
    class Two:
        @tool
        def one(self) -> None: ...

        @tool
        def two(self) -> None: ...

    other = Server("other", version="1")
    server = including(other, prefix="b")
    server.add_tool(lambda: None, name="b_two")

    with pytest.raises(ValueError, match="a server that includes this one has 'b_two' already"):
        other.include(Two())
    assert (list(other.tools), list(server.tools)) == ([], ["own", "b_two"])


def test_a_server_with_a_name_that_is_taken_further_out_is_not_included() -> None:
    inner, middle = Server("inner", version="1"), Server("middle", version="1")
    inner.add_tool(lambda: None, name="free")
    inner.add_tool(lambda: None, name="own")
    server = including(middle, prefix=None)

    with pytest.raises(ValueError, match="a server that includes this one has 'own' already"):
        middle.include(inner)
    assert (list(middle.tools), list(server.tools)) == ([], ["own"])


async def test_what_is_disabled_here_stays_so_whatever_happens_there() -> None:
    other = git()
    other.add_tool(lambda: "", name="diff")
    server = including(other)
    here, there = server.tools["git_log"], other.tools["log"]
    here.disable()
    there.disable()
    there.enable()
    async with Client(server) as client:
        hidden = await names(client)
        there.disable()
        here.enable()
        hidden_there = await names(client), here.enabled
        there.enable()

        assert hidden == ["own", "git_diff"]
        assert hidden_there == (["own", "git_diff"], False)
        assert (await names(client), here.enabled) == (["own", "git_log", "git_diff"], True)


async def test_what_is_disabled_when_it_is_included_is_seen_when_it_is_enabled() -> None:
    other = git()
    other.add_tool(lambda: "", name="diff")
    other.tools["log"].disable()
    outer = Server("outer", version="1")
    outer.include(including(other), prefix="m")
    async with Client(outer) as client:
        before = await names(client)
        other.tools["log"].enable()

        assert before == ["m_own", "m_git_diff"]
        assert await names(client) == ["m_own", "m_git_log", "m_git_diff"]


def test_a_joined_name_that_clients_may_refuse_is_warned_of() -> None:
    """When it is included, and when it comes later; the name alone is short enough."""
    inner, outer = Server("inner", version="1"), Server("outer", version="1")
    inner.add_tool(lambda: "", name="a" * 100)

    with pytest.warns(UserWarning, match=r"tool 'p{32}_a{100}': clients may refuse") as warned:
        outer.include(inner, prefix="p" * 32)
    with pytest.warns(UserWarning, match=r"tool 'p{32}_b{128}': clients may refuse"):
        inner.add_tool(lambda: "", name="b" * 128)
    inner.add_tool(lambda: "", name="c" * 95)

    assert [each.filename for each in warned] == [__file__]
    assert len(outer.tools) == 3


def test_a_warning_that_is_an_error_includes_nothing() -> None:
    inner, outer = Server("inner", version="1"), Server("outer", version="1")
    inner.add_tool(lambda: "", name="short")
    inner.add_tool(lambda: "", name="a" * 100)

    with pytest.raises(UserWarning, match="clients may refuse"):
        outer.include(inner, prefix="p" * 32)

    assert list(outer.tools) == []
    assert not outer.capabilities().tools


async def test_a_call_of_what_is_listed_further_in_makes_one_thing_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the length of the list."""

    class Listing:
        def tools(self) -> list[ToolInfo]:
            return [ToolInfo(f"tool{number}") for number in range(500)]

        def call_tool(self, name: str, arguments: Json) -> str:
            return name

    inner, outer = Server("inner", version="1", providers=[Listing()]), Server("o", version="1")
    outer.include(inner, prefix="in")
    made: list[str] = []
    under, init = Tool.under, Tool.__init__

    def counted_under(tool: Tool, name: str, *rest: Any) -> Tool:
        made.append(f"under {name}")
        return under(tool, name, *rest)

    def counted_init(tool: Tool, *args: Any, name: str, **options: Any) -> None:
        made.append(name)
        init(tool, *args, name=name, **options)

    monkeypatch.setattr(Tool, "under", counted_under)
    monkeypatch.setattr(Tool, "__init__", counted_init)
    async with Client(outer) as client:
        assert await text(client, "in_tool499") == "tool499"
        assert "unknown tool: 'in_tool500'" in await text(client, "in_tool500")
        assert "unknown tool: 'tool499'" in await text(client, "tool499")

    assert made == ["tool499", "under in_tool499", "under in_tool499"]
