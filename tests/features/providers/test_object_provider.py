"""Any object as a part of a server: marked methods, lists, handlers, and how they fall through."""

import asyncio
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest
from tests.asking import OLD, told
from tests.asking import outcome as ask
from tests.server.clients import CLIENTS, Connect, following

from toolhaft import (
    Arg,
    Audio,
    Context,
    Elicit,
    Image,
    InputRequired,
    InternalError,
    InvalidParams,
    Link,
    NotFound,
    PromptInfo,
    PromptProvider,
    PromptResult,
    ResourceInfo,
    ResourceProvider,
    Result,
    Server,
    Text,
    ToolError,
    ToolInfo,
    ToolProvider,
    assistant,
    prompt,
    resource,
    tool,
    user,
)
from toolhaft.features.providers.handlers import Hook
from toolhaft.features.providers.object_provider import ProviderList
from toolhaft.testing import Client

every_client = pytest.mark.parametrize("connect", CLIENTS.values(), ids=CLIENTS)
Json = dict[str, Any]
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


async def call(server: Server, name: str, /, **arguments: Any) -> Json:
    return await ask(server, "tools/call", name=name, arguments=arguments)


async def text(server: Server, name: str, /, **arguments: Any) -> str:
    [block] = (await call(server, name, **arguments))["content"]
    return str(block["text"])


async def names(server: Server, kind: str = "tools") -> list[str]:
    return [each["name"] for each in (await ask(server, f"{kind}/list"))[kind]]


def including(*providers: object) -> Server:
    return Server("including", version="1", providers=providers)


# Marked methods


class Calculator:
    """A class-based service."""

    def __init__(self, bias: int = 0) -> None:
        self.bias = bias

    @tool
    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        return a + b + self.bias

    @tool(name="fact", title="Factorial", read_only=True)
    async def factorial(self, n: int) -> int:
        return 1 if n < 2 else n * await self.factorial(n - 1)

    @tool
    @staticmethod
    def twice(n: int) -> int:
        return 2 * n

    @tool
    @classmethod
    def named(cls) -> str:
        return cls.__name__

    def helper(self) -> str:
        return "not a tool"

    @resource("bias://now", mime_type="text/plain")
    def now(self) -> str:
        return str(self.bias)

    @resource("sum://{a}/{b}")
    def sum(self, a: int, b: int) -> str:
        return str(self.add(a, b))

    @prompt
    def explain(self, topic: str) -> str:
        """Explain something."""
        return f"Explain {topic}."


async def test_marked_methods_are_offered_with_their_instance() -> None:
    """L-15, L-16, L-17, B-7: marked methods are tools, helpers are not; names may differ."""
    server = including(Calculator(bias=1))

    assert await names(server) == ["add", "fact", "twice", "named"]
    assert (await call(server, "add", a=1, b=2))["structuredContent"] == 4
    assert (await call(server, "fact", n=5))["structuredContent"] == 120
    assert (await call(server, "twice", n=5))["structuredContent"] == 10
    assert await text(server, "named") == "Calculator"
    assert (await ask(server, "resources/read", uri="bias://now"))["contents"][0]["text"] == "1"
    assert (await ask(server, "resources/read", uri="sum://1/2"))["contents"][0]["text"] == "4"
    [message] = (await ask(server, "prompts/get", name="explain", arguments={"topic": "x"}))[
        "messages"
    ]
    assert message["content"]["text"] == "Explain x."


def test_a_marked_method_is_still_a_method() -> None:
    calculator = Calculator()

    assert calculator.add(1, 2) == 3
    assert Calculator.add(calculator, 1, 2) == 3
    assert Calculator.twice(3) == 6
    assert calculator.named() == "Calculator"
    assert calculator.add.__doc__ == "Add two numbers."
    assert asyncio.run(calculator.factorial(3)) == 6


async def test_a_module_can_be_included() -> None:
    module = types.ModuleType("greetings")

    @tool
    def greet(name: str) -> str:
        return f"Hello, {name}!"

    vars(module)["greet"] = greet
    vars(module)["other"] = lambda: None

    assert greet("Ada") == "Hello, Ada!"
    assert await text(including(module), "greet", name="Ada") == "Hello, Ada!"


async def test_what_a_class_inherits_is_offered_and_what_it_overrides_is_its_own() -> None:
    class More(Calculator):
        def named(self) -> str:  # type: ignore[override]
            return "no tool any more"

        @tool
        def add(self, a: int, b: int) -> int:
            return 100 + super().add(a, b)

        @tool
        def more(self) -> str:
            return "more"

    server = including(More())

    assert await names(server) == ["add", "fact", "twice", "more"]
    assert (await call(server, "add", a=1, b=2))["structuredContent"] == 103


def test_a_mark_with_an_unknown_option_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="@tool knows no 'colour'; it takes"):
        tool(colour="red")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="@resource needs a URI"):
        resource(print)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="@prompt takes keywords only"):
        prompt("name")  # type: ignore[call-overload]


def test_a_mark_below_a_classmethod_is_refused_with_the_right_order() -> None:
    class Wrong:
        @classmethod
        @tool
        def named(cls) -> str:
            return ""

    with pytest.raises(TypeError, match="write @tool above @classmethod"):
        including(Wrong())


def test_a_class_is_no_instance() -> None:
    with pytest.raises(TypeError, match=r"include takes an instance: Calculator\(\), not the"):
        including(Calculator)


@pytest.mark.parametrize("nothing", [object(), 3, "text", lambda: None])
def test_an_object_with_nothing_to_offer_is_refused(nothing: object) -> None:
    with pytest.raises(TypeError, match=r"there is nothing in .* to include: mark its methods"):
        including(nothing)


def test_an_object_whose_methods_could_be_discovered_is_told_so() -> None:
    class Plain:
        def heat(self) -> None:
            """Heat."""

    with pytest.raises(TypeError, match="or pass discover=True to offer the methods that have a"):
        including(Plain())


# All or nothing


async def test_what_cannot_be_included_as_a_whole_is_not_included_at_all() -> None:
    """E-48: everything is checked first; all or nothing."""
    server = Server("s", version="1")
    server.add_prompt(lambda: "mine", name="explain")

    with pytest.raises(ValueError, match="there is a prompt 'explain' already"):
        server.include(Calculator())
    assert list(server.tools) == []
    assert list(server.resources) == []


def test_two_marks_of_one_name_are_refused() -> None:
    """E-48: duplicates inside of one call."""

    class Twice:
        @tool
        def one(self) -> str:
            return ""

        @tool(name="one")
        def two(self) -> str:
            return ""

    with pytest.raises(ValueError, match="'one' is marked twice"):
        including(Twice())


async def test_an_inclusion_can_be_removed_as_a_whole() -> None:
    """E-49: the bundle goes as it came; a second time nothing happens."""
    server = Server("s", version="1")
    server.add_tool(lambda: "mine", name="mine")
    inclusion = server.include(Calculator())
    server.remove_tool("twice")
    inclusion.remove()
    inclusion.remove()

    assert list(server.tools) == ["mine"]
    assert list(server.resources) == []


async def test_an_object_can_be_lent_for_the_length_of_a_block() -> None:
    server = Server("s", version="1")
    with server.include(Calculator()):
        during = list(server.tools)

    assert during == ["add", "fact", "twice", "named"]
    assert list(server.tools) == []


async def test_two_servers_of_one_process_know_nothing_of_each_other() -> None:
    """E-50: several servers are several objects."""
    one, other = including(Calculator(1)), including(Calculator(2))
    one.tools["add"].disable()

    assert "add" not in await names(one)
    assert (await call(other, "add", a=0, b=0))["structuredContent"] == 2


async def test_a_prefix_stands_before_every_name() -> None:
    server = Server("s", version="1")
    server.include(Calculator(1), prefix="one")
    server.include(Calculator(2), prefix="Two_2")
    read = await ask(server, "resources/read", uri="two-2+sum://1/2")

    assert (await names(server))[:2] == ["one_add", "one_fact"]
    assert (await call(server, "Two_2_add", a=1, b=2))["structuredContent"] == 5
    assert await names(server, "prompts") == ["one_explain", "Two_2_explain"]
    assert read["contents"] == [{"uri": "two-2+sum://1/2", "text": "5", "mimeType": "text/plain"}]


@pytest.mark.parametrize("prefix", ["", "1", "a b", "a.b", "ä", "x" * 33, 3])
def test_a_prefix_that_not_every_client_takes_is_refused(prefix: Any) -> None:
    with pytest.raises(ValueError, match="prefix="):
        Server("s").include(Calculator(), prefix=prefix)


# The advanced service: lists and handlers


class Files:
    """Only `tools` and `call_tool`, as in Ballerina's advanced service."""

    def tools(self) -> list[ToolInfo]:
        return [
            ToolInfo("half", "Halve a number.", input_schema=NUMBER, read_only=True),
            ToolInfo("now", title="Now"),
        ]

    def call_tool(self, name: str, arguments: Json, ctx: Context) -> Any:
        return f"{name} {arguments} {ctx.request_id is not None}"


@every_client
async def test_an_object_with_tools_and_call_tool_is_a_server(connect: Connect) -> None:
    """B-15, B-18, L-22: the advanced service; `arguments` may be absent."""
    async with connect(including(Files())) as client:
        listed = (await told(client, "tools/list"))["tools"]
        half = await told(client, "tools/call", name="half", arguments={"n": 4})
        now = await told(client, "tools/call", name="now")

    assert listed == [
        {
            "name": "half",
            "description": "Halve a number.",
            "inputSchema": NUMBER,
            "annotations": {"readOnlyHint": True},
        },
        {
            "name": "now",
            "title": "Now",
            "inputSchema": {
                "type": "object",
                "properties": {},
                "additionalProperties": False,
            },
        },
    ]
    assert half["content"] == [{"type": "text", "text": "half {'n': 4} True"}]
    assert now["content"] == [{"type": "text", "text": "now {} True"}]


@every_client
async def test_arguments_are_checked_against_a_schema_given_by_hand(connect: Connect) -> None:
    """L-24, E-17, B-11: nothing that does not fit reaches the handler."""
    async with connect(including(Files())) as client:
        wrong = await told(client, "tools/call", name="half", arguments={"n": "four"})
        missing = await told(client, "tools/call", name="half", arguments={})
        extra = await told(client, "tools/call", name="now", arguments={"x": 1})

    assert wrong["isError"]
    assert wrong["content"][0]["text"] == (
        'invalid arguments for half:\nn: expected an integer, got "four"'
    )
    assert missing["content"][0]["text"] == "invalid arguments for half:\nn: missing"
    assert extra["content"][0]["text"].startswith("invalid arguments for now:\nx: ")


@every_client
async def test_a_tool_that_is_not_listed_is_unknown(connect: Connect) -> None:
    """L-30, L-31, E-22, B-45: one answer, -32602, and the handler is not asked."""
    async with connect(including(Files())) as client:
        refused = await told(client, "tools/call", name="double", arguments={})
        missing = await told(client, "tools/call", arguments={})

    assert refused == {"code": -32602, "message": "unknown tool: 'double'"}
    assert missing["code"] == -32602


class Kinds:
    """Answers with whatever a tool may return."""

    def __init__(self) -> None:
        self.values: dict[str, Callable[[], Any]] = {
            "text": lambda: "text",
            "nothing": lambda: None,
            "number": lambda: 42,
            "data": lambda: {"a": [1, 2]},
            "several": lambda: [Text("one"), "two"],
            "picture": lambda: Image(b"\x89PNG\r\n\x1a\n"),
            "sound": lambda: Audio(b"RIFF\0\0\0\0WAVE"),
            "link": lambda: Link("notes://one"),
            "error": lambda: Result(["bad", "worse"], error=True),
            "structured": lambda: Result(["shown"], structured={"a": 1}),
            "bytes": lambda: b"plain",
            "tool error": lambda: _raise(ToolError("exactly this")),
            "bug": lambda: _raise(ZeroDivisionError("secret")),
            "params": lambda: _raise(InvalidParams("no such order")),
            "server": lambda: _raise(InternalError("the disk is full")),
            "exit": lambda: _raise(SystemExit(3)),
            "unsendable": lambda: object(),
        }

    async def tools(self) -> list[ToolInfo]:
        return [ToolInfo(name.replace(" ", "_")) for name in self.values]

    async def call_tool(self, name: str, arguments: Json) -> Any:
        return self.values[name.replace("_", " ")]()


def _raise(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(
    ("name", "types", "rest"),
    [
        ("text", ["text"], {}),
        ("nothing", [], {}),
        ("number", ["text"], {"structuredContent": 42}),
        ("data", ["text"], {"structuredContent": {"a": [1, 2]}}),
        ("several", ["text", "text"], {}),
        ("picture", ["image"], {}),
        ("sound", ["audio"], {}),
        ("link", ["resource_link"], {}),
        ("error", ["text", "text"], {"isError": True}),
        ("structured", ["text"], {"structuredContent": {"a": 1}}),
        ("bytes", ["text"], {}),
        ("tool_error", ["text"], {"isError": True}),
        ("bug", ["text"], {"isError": True}),
        ("exit", ["text"], {"isError": True}),
        ("unsendable", ["text"], {"isError": True}),
    ],
)
async def test_a_handler_may_return_whatever_a_tool_may(
    name: str, types: list[str], rest: Json
) -> None:
    """L-25, L-26, L-27, L-32, E-24, B-12, B-17, B-19: every kind of result, as for tools."""
    result = await call(including(Kinds()), name)
    content = result.pop("content")
    result.pop("resultType", None)
    result.pop("_meta", None)

    assert [block["type"] for block in content] == types
    assert result == rest


async def test_errors_of_a_handler_are_those_of_a_tool() -> None:
    """L-28, L-29, E-25, E-27, E-28, B-12, B-17: verbatim, masked, or as JSON-RPC errors."""
    server = including(Kinds())
    bug = await text(server, "bug")

    assert await text(server, "tool_error") == "exactly this"
    assert bug.startswith("tool 'bug' failed: ZeroDivisionError (error ")
    assert "secret" not in bug
    assert await call(server, "params") == {"code": -32602, "message": "no such order"}
    assert await call(server, "server") == {"code": -32603, "message": "the disk is full"}


async def test_a_result_is_checked_against_an_output_schema_given_by_hand() -> None:
    """B-13, L-33: what a schema promises is held."""

    class Weighing:
        def tools(self) -> list[ToolInfo]:
            schema = {"type": "object", "properties": {"kg": {"type": "number"}}}
            return [ToolInfo("weigh", args=[Arg("thing", str, "what it is")], output_schema=schema)]

        def call_tool(self, name: str, arguments: Json) -> Any:
            return {"kg": 3} if arguments["thing"] == "bag" else {"kg": "heavy"}

    server = including(Weighing())
    [listed] = (await ask(server, "tools/list"))["tools"]
    wrong = await call(server, "weigh", thing="house")

    assert listed["outputSchema"]["properties"] == {"kg": {"type": "number"}}
    assert (await call(server, "weigh", thing="bag"))["structuredContent"] == {"kg": 3}
    assert wrong["isError"]
    assert "its result is not what it promises" in wrong["content"][0]["text"]


# Handlers that ask


class Asking:
    """Asks in both ways: in the middle of its work, and by returning its questions."""

    def tools(self) -> list[ToolInfo]:
        return [ToolInfo("waits"), ToolInfo("returns")]

    async def call_tool(self, name: str, arguments: Json, ctx: Context) -> Any:
        if name == "waits":
            return f"{await ctx.elicit('How many?', int)} waited for"
        if not ctx.answers:
            return InputRequired({"count": Elicit("How many?", int)}, state="kept")
        return f"{ctx.answers['count']} {ctx.state}"


ASKED = pytest.mark.parametrize(
    ("name", "said"),
    [("waits", "Accepted(value=3) waited for"), ("returns", "Accepted(value=3) kept")],
)


@ASKED
@every_client
async def test_a_handler_asks_its_client(connect: Connect, name: str, said: str) -> None:
    """B-15: the later advanced service may answer with questions; before, it asks by a request."""
    async with connect(including(Asking())) as client:
        client.answer({"How many?": 3})

        assert await client.call(name) == said


# Custom first, then the marked method


class Custom:
    """Answers some calls by its handler and the rest by its methods."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Json]] = []

    def call_tool(self, name: str, arguments: Json, ctx: Context) -> Any:
        self.asked.append((name, arguments))
        if name == "fails":
            raise ToolError("stopped by the handler")
        return "by the handler" if arguments.get("n") == 0 else NotImplemented

    @tool
    def double(self, n: int, step: int = 1) -> str:
        return f"{2 * n} by the method, {step}"

    @tool
    async def triple(self, n: int, ctx: Context) -> str:
        return f"{3 * n} by the method, {ctx.client.revision}"

    @tool
    def fails(self) -> str:
        return "by the method"


@every_client
async def test_a_handler_is_asked_before_the_method(connect: Connect) -> None:
    """L-23: custom first; NotImplemented falls through to the method."""
    custom = Custom()
    async with connect(including(custom)) as client:

        async def called(name: str, **arguments: Any) -> str:
            return (await client.call_raw(name, arguments)).text

        assert await called("double", n=0) == "by the handler"
        assert await called("double", n=4) == "8 by the method, 1"
        assert (await called("triple", n="5")).startswith("15 by the method, 202")
        assert await called("fails") == "stopped by the handler"
        assert (await called("double", n="x")).startswith("invalid arguments for double")

    assert custom.asked == [
        ("double", {"n": 0}),
        ("double", {"n": 4}),
        ("triple", {"n": "5"}),
        ("fails", {}),
    ]


async def test_a_handler_that_leaves_a_call_to_nobody_is_a_bug_of_its_author(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Nobody:
        def tools(self) -> list[ToolInfo]:
            return [ToolInfo("lost")]

        def call_tool(self, name: str, arguments: Json) -> Any:
            return NotImplemented

    result = await call(including(Nobody()), "lost")

    assert result["isError"]
    assert "Nobody.call_tool returned NotImplemented for 'lost'" in caplog.text


async def test_a_prefix_is_not_the_handlers_business() -> None:
    custom = Custom()
    server = Server("s", version="1")
    server.include(custom, prefix="my")

    assert await text(server, "my_double", n=0) == "by the handler"
    assert custom.asked == [("double", {"n": 0})]


# Lists that are evaluated with each request


class Growing:
    """Has one more tool each time it is asked."""

    def __init__(self) -> None:
        self.count = 0

    def tools(self) -> list[ToolInfo]:
        self.count += 1
        return [ToolInfo(f"tool{number}") for number in range(self.count)]

    def call_tool(self, name: str, arguments: Json) -> str:
        return name


async def test_a_list_is_evaluated_with_each_request() -> None:
    """L-15: looked up on the object at each request."""
    server = including(Growing())

    assert await names(server) == ["tool0"]
    assert await names(server) == ["tool0", "tool1"]
    assert await text(server, "tool2") == "tool2"


class PerCaller:
    """Lists what the caller may see."""

    def tools(self, ctx: Context) -> list[ToolInfo]:
        return [ToolInfo(f"for_{ctx.client.name}")]

    async def prompts(self, ctx: Context) -> list[PromptInfo]:
        return [PromptInfo(f"for_{ctx.client.name}")]

    def resources(self, ctx: Context) -> list[ResourceInfo]:
        return [ResourceInfo(f"for://{ctx.client.name}")]

    def templates(self) -> list[ResourceInfo]:
        return [ResourceInfo("any://{name}")]

    def call_tool(self, name: str, arguments: Json) -> str:
        return name

    def get_prompt(self, name: str, arguments: Json) -> str:
        return name

    def read_resource(self, uri: str) -> str:
        return uri


async def test_a_list_that_looks_at_its_caller_is_private() -> None:
    """A shared cache must not show one caller's list to another."""
    server = including(PerCaller())
    scopes = {
        method: (await ask(server, method))["cacheScope"]
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
    }

    assert scopes == {
        "tools/list": "private",
        "prompts/list": "private",
        "resources/list": "private",
        "resources/templates/list": "public",
    }


async def test_a_list_that_is_the_same_for_all_is_public_and_not_kept() -> None:
    listed = await ask(including(Growing()), "tools/list")

    assert (listed["cacheScope"], listed["ttlMs"]) == ("public", 0)


async def test_a_caller_can_use_only_what_it_sees() -> None:
    server = including(PerCaller())

    assert await text(server, "for_toolhaft.testing") == "for_toolhaft.testing"
    assert (await call(server, "for_Ada"))["code"] == -32602


async def test_what_is_registered_comes_before_what_is_listed() -> None:
    class Clashing(Growing):
        def tools(self) -> list[ToolInfo]:
            return [ToolInfo("own"), ToolInfo("other")]

    server = Server("s", version="1")
    server.include(Clashing())
    server.add_tool(lambda: "registered", name="own")

    assert await names(server) == ["own", "other"]
    assert await text(server, "own") == "registered"
    assert await text(server, "other") == "other"


@pytest.mark.parametrize("registered", [0, 1, 2, 3, 4])
async def test_pages_go_through_what_is_registered_and_what_is_listed(registered: int) -> None:
    class Three(Growing):
        def tools(self) -> list[ToolInfo]:
            return [ToolInfo(f"listed{number}") for number in range(3)]

    server = Server("s", version="1", page_size=2)
    for number in range(registered):
        server.add_tool(lambda: "", name=f"registered{number}")
    server.include(Three())
    pages: list[list[str]] = []
    cursor: Json = {}
    while True:
        page = await ask(server, "tools/list", **cursor)
        pages.append([each["name"] for each in page["tools"]])
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}

    assert [name for page in pages for name in page] == [
        *(f"registered{number}" for number in range(registered)),
        *(f"listed{number}" for number in range(3)),
    ]
    assert all(len(page) == 2 for page in pages[:-1])


async def test_a_cursor_of_a_list_that_is_no_more_is_refused() -> None:
    server = Server("s", version="1", page_size=1)
    server.add_tool(lambda: "", name="own")
    with server.include(Growing()):
        listed = await ask(server, "tools/list")
    stale = await ask(server, "tools/list", cursor="tool-0-1")

    assert listed["nextCursor"] == "tool-0-1"
    assert stale["code"] == -32602


async def test_a_plain_list_runs_on_a_thread_unless_it_says_otherwise() -> None:
    class Where(Growing):
        def tools(self) -> list[ToolInfo]:
            here = threading.current_thread() is threading.main_thread()
            return [ToolInfo("on_the_loop" if here else "on_a_thread")]

    on_loop = Server("s", version="1")
    on_loop.include(Where(), thread=False)

    assert await names(including(Where())) == ["on_a_thread"]
    assert await names(on_loop) == ["on_the_loop"]


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (None, "must return a list of ToolInfo"),
        ({"a": 1}, "must return a list of ToolInfo"),
        ("half", "must return a list of ToolInfo"),
    ],
)
async def test_a_list_that_is_none_fails_for_itself_and_says_why_in_the_log(
    listed: Any, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B-17: of what is wrong in a list, clients get -32603 and no details."""

    class Wrong:
        def tools(self) -> Any:
            return listed

        def call_tool(self, name: str, arguments: Json) -> str:
            return name

    refused = await ask(including(Wrong()), "tools/list")

    assert refused["code"] == -32603
    assert words not in refused["message"]
    assert words in caplog.text


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (["half"], "must be ToolInfo(…), and this one is str"),
        ([ToolInfo("ok"), ToolInfo("ok")], "'ok' is there twice"),
        ([ToolInfo("a", input_schema={"type": "string"})], "the root must have"),
        ([ToolInfo("a", input_schema={"type": "object", "required": "b"})], "required must be"),
    ],
)
async def test_an_entry_that_is_none_is_left_out_and_the_log_says_why_once(
    listed: Any, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Wrong:
        def tools(self) -> Any:
            return [ToolInfo("ok"), *listed]

        def call_tool(self, name: str, arguments: Json) -> str:
            return name

    server = including(Wrong())

    assert await names(server) == ["ok"]
    assert await names(server) == ["ok"]
    assert caplog.text.count("Wrong.tools: an entry was left out of the list") == 1
    assert words in caplog.text


async def test_an_error_that_a_list_raises_for_the_client_reaches_it() -> None:
    """B-17: an error for the client keeps its words."""

    class Down(Growing):
        def tools(self) -> list[ToolInfo]:
            raise InternalError("the archive is closed")

    refused = await ask(including(Down()), "tools/list")

    assert refused == {"code": -32603, "message": "the archive is closed"}


async def test_an_object_can_tell_that_its_lists_have_changed() -> None:
    server = Server("s", version="1")
    inclusion = server.include(PerCaller())
    async with Client(server, OLD) as client, following(client) as heard:
        inclusion.changed()
        told = {(await heard.next()).method for _ in range(3)}

    assert told == {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
    }


# Prompts and resources


class Library:
    """Prompts and resources by lists and handlers, with methods behind them."""

    def prompts(self) -> list[PromptInfo]:
        return [
            PromptInfo("review", "Review a text.", args=[Arg("text", str, "what to review")]),
            PromptInfo("talk", args=[Arg("mood", str, enum=["calm", "loud"], optional=True)]),
        ]

    def get_prompt(self, name: str, arguments: dict[str, str], ctx: Context) -> Any:
        if name == "review":
            return PromptResult("A review", [user(arguments["text"]), assistant("So it is.")])
        return NotImplemented if name == "marked" else f"{name} {arguments}"

    @prompt
    def marked(self, topic: str) -> str:
        return f"{topic} by the method"

    async def resources(self) -> list[ResourceInfo]:
        return [ResourceInfo("book://one", "One", "The first.", mime_type="text/markdown")]

    def templates(self) -> list[ResourceInfo]:
        return [ResourceInfo("page://{book}/{+path}", "Page")]

    async def read_resource(self, uri: str, ctx: Context) -> Any:
        if uri == "page://one/lost":
            raise NotFound("no such page")
        if uri == "page://one/broken":
            raise ZeroDivisionError
        return NotImplemented if uri.startswith("marked:") else f"contents of {uri}"

    @resource("marked://here")
    def here(self) -> bytes:
        return b"by the method"


@every_client
async def test_prompts_by_a_list_and_a_handler(connect: Connect) -> None:
    """L-42, L-43, L-44: prompts with arguments; messages with a description."""
    async with connect(including(Library())) as client:
        listed = (await told(client, "prompts/list"))["prompts"]
        got = await told(client, "prompts/get", name="review", arguments={"text": "a"})
        plain = await told(client, "prompts/get", name="talk")
        marked = await told(client, "prompts/get", name="marked", arguments={"topic": "x"})

    assert listed[1:] == [
        {
            "name": "review",
            "description": "Review a text.",
            "arguments": [{"name": "text", "description": "what to review", "required": True}],
        },
        {"name": "talk", "arguments": [{"name": "mood"}]},
    ]
    assert got["description"] == "A review"
    assert [each["role"] for each in got["messages"]] == ["user", "assistant"]
    assert plain["messages"][0]["content"]["text"] == "talk {}"
    assert marked["messages"][0]["content"]["text"] == "x by the method"


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("review", {}, "text: missing"),
        ("review", {"text": "a", "x": "b"}, "x: "),
        ("talk", {"mood": "sad"}, "mood: "),
        ("talk", {"mood": 3}, "expected a string"),
        ("unknown", {}, "unknown prompt: 'unknown'; there are marked"),
    ],
)
async def test_arguments_of_a_prompt_are_checked(name: str, arguments: Json, words: str) -> None:
    """L-45, L-46: required ones are required, unknown prompts are -32602."""
    refused = await ask(including(Library()), "prompts/get", name=name, arguments=arguments)

    assert refused["code"] == -32602
    assert words in refused["message"]


@every_client
async def test_resources_by_lists_and_a_handler(connect: Connect) -> None:
    """L-47, L-48, L-50, L-51: listed one by one or by a template, read by the handler."""
    async with connect(including(Library())) as client:
        [marked, listed] = (await told(client, "resources/list"))["resources"]
        [template] = (await told(client, "resources/templates/list"))["resourceTemplates"]

        async def read(uri: str) -> Json:
            [contents] = (await told(client, "resources/read", uri=uri))["contents"]
            found: Json = contents
            return found

        assert marked["uri"] == "marked://here"
        assert listed == {
            "uri": "book://one",
            "name": "One",
            "description": "The first.",
            "mimeType": "text/markdown",
        }
        assert template == {"uriTemplate": "page://{book}/{+path}", "name": "Page"}
        assert await read("book://one") == {
            "uri": "book://one",
            "text": "contents of book://one",
            "mimeType": "text/markdown",
        }
        assert (await read("PAGE://one/a/b"))["text"] == "contents of PAGE://one/a/b"
        assert (await read("marked://here"))["blob"] == "YnkgdGhlIG1ldGhvZA=="


@pytest.mark.parametrize(
    "uri",
    ["book://two", "page://one/lost", "page://one/../../etc", "page://../x", "nothing://x"],
)
async def test_only_what_is_listed_can_be_read(uri: str) -> None:
    """L-49, E-43: unknown, or climbing out of the template, is not found."""
    refused = await ask(including(Library()), "resources/read", uri=uri)

    assert refused["code"] == -32602
    assert refused["data"] == {"uri": uri}


async def test_a_bug_in_a_reading_handler_is_masked() -> None:
    """L-49, E-45: -32603, and no details."""
    refused = await ask(including(Library()), "resources/read", uri="page://one/broken")

    assert refused["code"] == -32603
    assert "ZeroDivisionError" in refused["message"]


async def test_a_handler_reads_by_the_uri_that_it_knows() -> None:
    server = Server("s", version="1")
    server.include(Library(), prefix="lib")
    [contents] = (await ask(server, "resources/read", uri="lib+book://one"))["contents"]
    [page] = (await ask(server, "resources/read", uri="LIB+page://a/b"))["contents"]

    assert contents["uri"] == "lib+book://one"
    assert contents["text"] == "contents of book://one"
    assert page["text"] == "contents of page://a/b"


# The shape of providers


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ({"tools": lambda: []}, "has tools() and no call_tool"),
        ({"prompts": lambda: []}, "has prompts() and no get_prompt"),
        ({"templates": lambda: []}, "has templates() and no read_resource"),
        ({"call_tool": lambda name, arguments: 1}, "call_tool, and lists nothing"),
        ({"read_resource": lambda uri: 1}, "add resources() or templates()"),
        ({"tools": [], "call_tool": lambda name, arguments: 1}, "tools must be a method"),
        ({"tools": lambda: [], "call_tool": lambda name: 1}, "must take (name, arguments, ctx)"),
        ({"tools": lambda a, b: [], "call_tool": lambda n, a: 1}, "must take (ctx) or ()"),
        ({"tools": lambda: (yield), "call_tool": lambda n, a: 1}, "is a generator"),
    ],
)
def test_a_provider_of_the_wrong_shape_is_refused_when_it_is_included(
    methods: Json, words: str
) -> None:
    """B-16: what Ballerina finds when it compiles, `include` finds."""
    with pytest.raises(TypeError) as refused:
        including(types.SimpleNamespace(**methods))

    assert words in str(refused.value)


def test_a_class_of_the_protocols_has_to_have_their_methods() -> None:
    """L-15, B-16: a class that says what it is, is held to it."""

    class Half(ToolProvider):
        def tools(self) -> list[ToolInfo]:
            return []

    with pytest.raises(TypeError, match="call_tool"):
        Half()  # type: ignore[abstract]


async def test_a_class_may_say_which_protocols_it_follows() -> None:
    class Whole(ToolProvider, PromptProvider, ResourceProvider):
        def tools(self) -> list[ToolInfo]:
            return [ToolInfo("one")]

        def call_tool(self, name: str, arguments: Json, ctx: Context) -> str:
            return name

        def prompts(self) -> list[PromptInfo]:
            return [PromptInfo("two")]

        def get_prompt(self, name: str, arguments: dict[str, str]) -> str:
            return name

        def resources(self) -> list[ResourceInfo]:
            return [ResourceInfo("three://3")]

        def read_resource(self, uri: str) -> str:
            return uri

    server = including(Whole())

    assert await names(server) == ["one"]
    assert await names(server, "prompts") == ["two"]
    assert (await ask(server, "resources/templates/list"))["resourceTemplates"] == []


async def test_capabilities_follow_from_what_is_included() -> None:
    """L-42, L-50: nothing is declared by hand."""
    tools_only = including(Files()).capabilities()
    inclusion_gone = Server("s", version="1")
    inclusion_gone.include(Files()).remove()

    assert tools_only.tools
    assert not tools_only.prompts
    assert inclusion_gone.capabilities().tools, "a capability is not taken back"


async def test_a_list_that_is_the_same_is_made_ready_once() -> None:
    made: list[str] = []
    titles = iter([None, None, "Other"])

    async def tools() -> list[ToolInfo]:
        return [
            ToolInfo("a", args=[Arg("x", int, "what it is")]),
            ToolInfo("b", title=next(titles)),
        ]

    def make(info: ToolInfo) -> str:
        made.append(info.name)
        return f"{info.name} {info.title}"

    hook = Hook(tools, "tools", (), context=lambda exchange: Context(exchange), inline=False)
    listed = ProviderList(hook, ToolInfo, str, make)
    exchange: Any = types.SimpleNamespace(place=None)
    found = [await listed.list(exchange) for _ in range(3)]

    assert found[0] == found[1] == {"a": "a None", "b": "b None"}
    assert found[2] == {"a": "a None", "b": "b Other"}
    assert made == ["a", "b", "b"]


@pytest.mark.parametrize(
    ("tools", "scope"),
    [
        (lambda: [ToolInfo("a")], "public"),
        (lambda limit=1: [ToolInfo("a")] * limit, "public"),
        (lambda ctx=None: [ToolInfo("a")], "private"),
        (lambda whom: [ToolInfo("a")], "private"),
        (lambda *given: [ToolInfo("a")], "private"),
    ],
)
async def test_a_parameter_with_a_default_is_for_a_context_if_it_is_called_so(
    tools: Any, scope: str
) -> None:
    provider = types.SimpleNamespace(tools=tools, call_tool=lambda name, arguments: name)

    assert (await ask(including(provider), "tools/list"))["cacheScope"] == scope


async def test_a_marked_method_is_what_its_mark_says_whatever_its_name() -> None:
    class Workshop:
        @tool
        def tools(self, drawer: int) -> str:
            return f"hammer of {drawer}"

        @tool
        def templates(self) -> str:
            return "letter"

        @prompt
        def call_tool(self) -> str:
            return "call it"

    server = including(Workshop())
    called = await ask(server, "tools/call", name="tools", arguments={"drawer": 1})

    assert called["content"][0]["text"] == "hammer of 1"
    assert list(server.tools) == ["tools", "templates"]
    assert list(server.prompts) == ["call_tool"]


@pytest.mark.parametrize(
    ("name", "uri", "words"),
    [
        ("resources", "book://{id}", "resources lists 'book://{id}', a template; list it in temp"),
        ("templates", "book://one", "templates lists 'book://one', no template; list it in resou"),
    ],
)
async def test_a_uri_in_the_wrong_list_is_refused(
    name: str, uri: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    library = types.SimpleNamespace(read_resource=lambda uri: uri)
    setattr(library, name, lambda: [ResourceInfo(uri)])
    method = "resources/list" if name == "resources" else "resources/templates/list"
    listed = await ask(including(library), method)

    assert listed["resources" if name == "resources" else "resourceTemplates"] == []
    assert words in caplog.text


async def test_one_entry_that_is_wrong_is_left_out_and_the_others_are_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """L-51: the log names the entry, and what is right can be used."""

    class Half:
        def tools(self) -> list[ToolInfo]:
            return [ToolInfo("good"), ToolInfo("bad", input_schema={"type": "array"})]

        def call_tool(self, name: str, arguments: Json) -> str:
            return name

    server = including(Half(), Calculator())
    listed = await names(server)

    assert "good" in listed
    assert "add" in listed
    assert "bad" not in listed
    assert "the entry 'bad': tool 'bad': input_schema: the root must have" in caplog.text
    assert await text(server, "good") == "good"
    assert await text(server, "add", a=1, b=2) == "3"
    assert (await ask(server, "tools/call", name="bad", arguments={}))["code"] == -32603


class Annotated:
    """Its methods say what they return, and its handlers return something else."""

    @tool
    def text(self) -> str:
        return 5  # type: ignore[return-value]

    @tool
    def number(self) -> int:
        return 5

    @resource("text://it")
    def it(self) -> str:
        return 5  # type: ignore[return-value]

    def call_tool(self, name: str, arguments: Json) -> Any:
        return arguments.get("as", NotImplemented) if name == "text" else "five"

    def read_resource(self, uri: str) -> Any:
        return {"read": uri}


async def test_a_handler_is_held_to_what_clients_are_promised_and_to_no_more() -> None:
    """L-26: the annotation of a method says nothing of the handler in front of it."""

    class Listing(Annotated):
        def call_tool(self, name: str, arguments: Json) -> Any:
            return [Text("a"), Text("b")] if name == "text" else "five"

    several = await call(including(Listing()), "text")
    read = await ask(including(Annotated()), "resources/read", uri="text://it")

    assert [each["text"] for each in several["content"]] == ["a", "b"]
    assert await text(including(Listing()), "number") == "five"
    assert "not what it promises" in await text(including(Annotated()), "text")
    assert read["contents"][0]["text"] == '{"read":"text://it"}'


async def test_a_method_behind_a_handler_publishes_no_schema_of_its_annotation() -> None:
    """Clients check results against a schema, and the handler may answer with anything."""
    listed = (await ask(including(Annotated()), "tools/list"))["tools"]

    assert [each for each in listed if "outputSchema" in each] == []


async def test_a_schema_given_by_hand_holds_for_the_handler_and_the_method() -> None:
    class Numbers:
        @tool(output_schema=NUMBER)
        def number(self, by: str) -> Json:
            return {"n": 5}

        def call_tool(self, name: str, arguments: Json) -> Any:
            return {"own": NotImplemented, "good": {"n": 6}}.get(arguments["by"], "six")

    server = including(Numbers())
    [listed] = (await ask(server, "tools/list"))["tools"]

    assert listed["outputSchema"] == NUMBER
    assert (await call(server, "number", by="own"))["structuredContent"] == {"n": 5}
    assert (await call(server, "number", by="good"))["structuredContent"] == {"n": 6}
    assert "not what it promises" in await text(server, "number", by="bad")
