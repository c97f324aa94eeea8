"""Every kind of callable as a tool, and what is refused at registration, with which words."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from tests.asking import outcome

from toolhaft import Context, Server

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def server() -> Server:
    return Server("tested", version="1", errors="show")


async def listed(server: Server) -> dict[str, Any]:
    """The one tool of a server, as clients see it."""
    [tool] = (await outcome(server, "tools/list"))["tools"]
    found: dict[str, Any] = tool
    return found


async def call(server: Server, **arguments: Any) -> Any:
    """What the one tool of a server gives for these arguments."""
    name = (await listed(server))["name"]
    result = await outcome(server, "tools/call", name=name, arguments=arguments)
    assert "isError" not in result, result
    return result["content"][0]["text"]


def plain(a: int, b: int = 2) -> str:
    """Plain function.

    Args:
        a: the first
        b: the second
    """
    return f"{a} {b}"


async def waits(a: int, b: int = 2) -> str:
    """Async function."""
    await asyncio.sleep(0)
    return f"{a} {b}"


def yields(a: int, b: int = 2) -> Iterator[str]:
    """Generator."""
    yield "first"
    yield f"{a} {b}"


async def async_yields(a: int, b: int = 2) -> AsyncIterator[str]:
    """Async generator."""
    yield "first"
    yield f"{a} {b}"


class Methods:
    """A class with a method of each kind."""

    def __init__(self, word: str = "") -> None:
        self.word = word

    def plain(self, a: int, b: int = 2) -> str:
        return f"{a} {b}"

    async def waits(self, a: int, b: int = 2) -> str:
        return f"{a} {b}"

    def yields(self, a: int, b: int = 2) -> Iterator[str]:
        yield f"{a} {b}"

    async def async_yields(self, a: int, b: int = 2) -> AsyncIterator[str]:
        yield f"{a} {b}"

    @classmethod
    def of_class(cls, a: int, b: int = 2) -> str:
        assert cls is Methods
        return f"{a} {b}"

    @classmethod
    async def of_class_waits(cls, a: int, b: int = 2) -> str:
        return f"{a} {b}"

    @staticmethod
    def static(a: int, b: int = 2) -> str:
        return f"{a} {b}"

    @staticmethod
    async def static_waits(a: int, b: int = 2) -> str:
        return f"{a} {b}"

    @staticmethod
    async def static_yields(a: int, b: int = 2) -> AsyncIterator[str]:
        yield f"{a} {b}"


class Plain:
    """About the class."""

    def __call__(self, a: int, b: int = 2) -> str:
        """About the call."""
        return f"{a} {b}"


class Waits:
    async def __call__(self, a: int, b: int = 2) -> str:
        return f"{a} {b}"


class Yields:
    def __call__(self, a: int, b: int = 2) -> Iterator[str]:
        yield f"{a} {b}"


class AsyncYields:
    async def __call__(self, a: int, b: int = 2) -> AsyncIterator[str]:
        yield f"{a} {b}"


@functools.lru_cache
def cached(a: int, b: int = 2) -> str:
    return f"{a} {b}"


def _decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


CALLABLES: list[tuple[Callable[..., Any], str]] = [
    (plain, "plain"),
    (waits, "waits"),
    (yields, "yields"),
    (async_yields, "async_yields"),
    (Methods().plain, "plain"),
    (Methods().waits, "waits"),
    (Methods().yields, "yields"),
    (Methods().async_yields, "async_yields"),
    (Methods.of_class, "of_class"),
    (Methods().of_class, "of_class"),
    (Methods.of_class_waits, "of_class_waits"),
    (Methods.static, "static"),
    (Methods().static, "static"),
    (Methods.static_waits, "static_waits"),
    (Methods.static_yields, "static_yields"),
    (vars(Methods)["static"], "static"),
    (Plain(), "Plain"),
    (Waits(), "Waits"),
    (Yields(), "Yields"),
    (AsyncYields(), "AsyncYields"),
    (functools.partial(plain), "plain"),
    (functools.partial(waits), "waits"),
    (functools.partial(yields), "yields"),
    (functools.partial(async_yields), "async_yields"),
    (functools.partial(Methods().plain), "plain"),
    (functools.partial(Methods().waits), "waits"),
    (functools.partial(Plain()), "Plain"),
    (functools.partial(functools.partial(plain)), "plain"),
    (cached, "cached"),
    (_decorated(plain), "plain"),
]


@pytest.mark.parametrize(("function", "name"), CALLABLES)
async def test_every_kind_of_callable_can_be_a_tool(
    server: Server, function: Callable[..., Any], name: str
) -> None:
    server.tool(function)

    tool = await listed(server)

    assert tool["name"] == name
    properties = tool["inputSchema"]["properties"]
    assert {key: each["type"] for key, each in properties.items()} == {
        "a": "integer",
        "b": "integer",
    }
    assert tool["inputSchema"]["required"] == ["a"]
    assert await call(server, a=1, b=5) == "1 5"
    assert await call(server, a="1") == "1 2"


@pytest.mark.parametrize(("function", "name"), CALLABLES[::4])
async def test_every_kind_of_callable_can_be_a_resource_and_a_prompt(
    server: Server, function: Callable[..., Any], name: str
) -> None:
    server.resource("it://{a}/{b}")(function)
    server.prompt(function)

    read = await outcome(server, "resources/read", uri="it://1/5")
    got = await outcome(server, "prompts/get", name=name, arguments={"a": "1"})

    assert read["contents"][0]["text"] == "1 5"
    assert got["messages"][0]["content"]["text"] == "1 2"


def test_a_decorator_gives_back_what_it_was_given(server: Server) -> None:
    instance, method = Plain(), Methods().waits

    assert server.tool(plain) is plain
    assert server.tool(instance) is instance
    assert server.tool(name="other")(method) is method


def test_nothing_is_set_on_the_authors_function(server: Server) -> None:
    def own(a: int) -> int:
        return a

    before = dict(vars(own))
    server.tool(own)

    assert vars(own) == before


async def test_a_method_is_bound_to_its_object_at_registration(server: Server) -> None:
    class Greeter:
        def __init__(self, word: str) -> None:
            self.word = word

        def greet(self, name: str) -> str:
            return f"{self.word}, {name}"

    one = Greeter("Hello")
    server.add_tool(one.greet, name="one")
    server.add_tool(Greeter("Bye").greet, name="two")
    one.word = "Hi"  # the object is the same, not a copy
    one.greet = lambda name: "another function"  # type: ignore[method-assign]

    first = await outcome(server, "tools/call", name="one", arguments={"name": "Ann"})
    second = await outcome(server, "tools/call", name="two", arguments={"name": "Ann"})

    assert first["content"][0]["text"] == "Hi, Ann"
    assert second["content"][0]["text"] == "Bye, Ann"


async def test_a_class_method_is_bound_to_the_class_it_is_taken_from(server: Server) -> None:
    class Parent:
        @classmethod
        def who(cls) -> str:
            return cls.__name__

    class Child(Parent):
        pass

    server.tool(Child.who)

    assert await call(server) == "Child"


async def test_an_instance_is_described_by_its_call(server: Server) -> None:
    server.tool(Plain())

    assert (await listed(server))["description"] == "About the call."


# functools.partial


async def test_a_fixed_keyword_is_hidden_and_used(server: Server) -> None:
    server.tool(functools.partial(plain, b=7))

    tool = await listed(server)

    assert tool["inputSchema"]["properties"] == {
        "a": {"type": "integer", "description": "the first"}
    }
    assert tool["description"] == "Plain function."
    assert await call(server, a=1) == "1 7"


async def test_a_fixed_keyword_cannot_be_given_by_a_client(server: Server) -> None:
    server.tool(functools.partial(plain, b=7))

    result = await outcome(server, "tools/call", name="plain", arguments={"a": 1, "b": 8})

    assert result["isError"] is True
    assert "b" in result["content"][0]["text"]


async def test_a_fixed_keyword_before_others_leaves_them(server: Server) -> None:
    server.tool(functools.partial(plain, a=3))

    assert list((await listed(server))["inputSchema"]["properties"]) == ["b"]
    assert await call(server, b=4) == "3 4"
    assert await call(server) == "3 2"


@pytest.mark.parametrize(
    "function",
    [
        functools.partial(plain, 3, 4),
        functools.partial(plain, 3, b=4),
        functools.partial(functools.partial(plain, 3), 4),
        functools.partial(functools.partial(plain, a=3), b=4),
        functools.partial(functools.partial(plain, a=9, b=4), a=3),
        functools.partial(waits, a=3, b=4),
        functools.partial(yields, 3, b=4),
        functools.partial(async_yields, 3, 4),
        functools.partial(Methods().waits, 3, 4),
    ],
)
async def test_what_a_partial_fixes_is_not_in_the_schema(
    server: Server, function: Callable[..., Any]
) -> None:
    server.tool(function)

    assert not (await listed(server))["inputSchema"].get("properties")
    assert await call(server) == "3 4"


async def test_a_fixed_value_may_be_of_any_type(server: Server) -> None:
    class Database:
        name = "db"

    def query(db: Database, text: str) -> str:
        return f"{db.name}: {text}"

    server.add_tool(functools.partial(query, Database()), name="first")
    server.add_tool(functools.partial(query, db=Database()), name="second")

    for name in ("first", "second"):
        result = await outcome(server, "tools/call", name=name, arguments={"text": "x"})
        assert result["content"][0]["text"] == "db: x"


async def test_a_partial_still_gets_its_context(server: Server) -> None:
    def it(a: int, ctx: Context) -> str:
        return f"{a} {ctx.client.revision}"

    server.tool(functools.partial(it, a=3))

    assert not (await listed(server))["inputSchema"].get("properties")
    assert await call(server) == "3 2026-07-28"


async def test_a_partial_method_of_an_object_can_be_a_tool(server: Server) -> None:
    class Adder:
        def add(self, a: int, b: int) -> int:
            return a + b

        add_five = functools.partialmethod(add, b=5)

    server.add_tool(Adder().add_five, name="add_five")

    assert await call(server, a=1) == "6"


# What is refused


def _positional(a: int, /) -> int:
    return a


def _many(*items: int) -> int:
    return sum(items)


def _anything(**options: int) -> int:
    return len(options)


def _context(ctx) -> None:  # type: ignore[no-untyped-def]
    """A context without an annotation."""


class _Unknown:
    pass


def _unknown(thing: _Unknown) -> None: ...


def _unknown_inside(things: list[dict[str, _Unknown]]) -> None: ...


def _unimported(thing: "NotImported") -> None: ...  # type: ignore[name-defined] # noqa: F821


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (
        _positional,
        "tool '_positional': parameter 'a' is positional-only, and arguments come by name; "
        "remove the '/'",
    ),
    (_many, "tool '_many': *items has no schema; name each argument, or take one list"),
    (
        _anything,
        "tool '_anything': **options has no schema; name each argument, take one dict, or pass "
        "input_schema=",
    ),
    (
        Methods.plain,
        "tool 'plain': 'self' is not bound; register the method of an instance",
    ),
    (
        Methods.async_yields,
        "tool 'async_yields': 'self' is not bound; register the method of an instance",
    ),
    (
        functools.partial(Methods.waits, a=1),
        "tool 'waits': 'self' is not bound; register the method of an instance",
    ),
    (lambda a: a, "a lambda has no name; pass name=…"),
    (functools.partial(lambda a: a, 1), "a lambda has no name; pass name=…"),
    (max, "tool 'max': its parameters cannot be seen; wrap it in a function that names them"),
    (
        _context,
        "tool '_context': annotate 'ctx' as Context, or give it another name",
    ),
    (
        _unimported,
        "tool '_unimported': name 'NotImported' is not defined in an annotation; import the name "
        "where the function is defined",
    ),
]


@pytest.mark.parametrize(("function", "message"), REFUSED)
def test_what_cannot_be_a_tool_is_refused_with_a_way_out(
    server: Server, function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(TypeError) as raised:
        server.tool(function)

    assert str(raised.value) == message
    assert not server.capabilities().tools


@pytest.mark.parametrize("function", [_unknown, _unknown_inside])
def test_a_type_that_json_cannot_carry_is_named_with_its_parameter(
    server: Server, function: Callable[..., Any]
) -> None:
    with pytest.raises(TypeError, match=r"parameter 'things?': .*_Unknown.*; use a type that JSON"):
        server.tool(function)


@pytest.mark.parametrize("function", [len, abs, {}.get, print])
def test_a_builtin_that_takes_no_names_is_refused(
    server: Server, function: Callable[..., Any]
) -> None:
    with pytest.raises(TypeError, match=rf"^tool '{function.__name__}': "):
        server.tool(function)


@pytest.mark.parametrize("function", [5, "name", b"", object()])
def test_what_is_not_callable_is_told_how_the_decorator_is_used(
    server: Server, function: Any
) -> None:
    with pytest.raises(TypeError, match=r"^@server.tool takes keywords only"):
        server.tool(function)


def test_a_class_method_that_is_not_bound_yet_is_refused(server: Server) -> None:
    with pytest.raises(TypeError):

        class Service:
            @server.tool
            @classmethod
            def it(cls, a: int) -> int:
                return a

    assert not server.capabilities().tools


def test_a_method_in_a_class_body_is_refused(server: Server) -> None:
    with pytest.raises(TypeError, match=r"^tool 'it': 'self' is not bound"):

        class Service:
            @server.tool
            def it(self, a: int) -> int:
                return a


async def test_a_static_method_in_a_class_body_can_be_a_tool(server: Server) -> None:
    class Service:
        @server.tool
        @staticmethod
        def outside(a: int) -> int:
            return a + 1

    assert await call(server, a=1) == "2"
    assert Service.outside(1) == 2


async def test_a_static_method_over_a_tool_stays_both(server: Server) -> None:
    class Service:
        @staticmethod
        @server.tool
        def inside(a: int) -> int:
            return a + 1

    assert await call(server, a=1) == "2"
    assert Service.inside(1) == 2


async def test_a_parameter_may_be_called_self_if_it_says_what_it_is(server: Server) -> None:
    def it(self: str, cls: int) -> str:
        return f"{self} {cls}"

    server.tool(it)

    assert await call(server, self="me", cls=1) == "me 1"


async def test_a_lambda_with_a_name_can_be_a_tool(server: Server) -> None:
    server.add_tool(lambda a: f"got {a}", name="named")

    assert await call(server, a=1) == "got 1"


async def test_with_a_schema_a_function_may_take_anything(server: Server) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    server.tool(input_schema=schema)(_anything)

    assert (await listed(server))["inputSchema"] == schema
    assert await call(server, a=1, b=2) == "2"


@pytest.mark.parametrize("name", ["two words", "größe", "a/b", "x" * 129, "tab\t"])
def test_a_name_that_clients_may_refuse_is_warned_of(server: Server, name: str) -> None:
    with pytest.warns(UserWarning, match="clients may refuse this name") as caught:
        server.tool(name=name)(plain)

    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert server.capabilities().tools


@pytest.mark.parametrize("name", ["", 5])
def test_a_name_that_is_none_is_refused(server: Server, name: Any) -> None:
    with pytest.raises(TypeError, match="a name is a str that is not empty"):
        server.add_tool(plain, name=name)


@pytest.mark.parametrize("name", ["a", "A_b-c.9", "x" * 128])
def test_a_name_that_clients_take_is_not_warned_of(server: Server, name: str) -> None:
    server.add_tool(plain, name=name)

    assert server.capabilities().tools


def test_a_name_in_use_is_an_error(server: Server) -> None:
    server.tool(plain)

    with pytest.raises(ValueError, match="plain"):
        server.tool(Methods().plain)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), -0.0])
def test_a_time_limit_has_to_be_above_zero(server: Server, timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout must be a number of seconds above 0"):
        server.add_tool(plain, timeout=timeout)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_has_to_be_at_least_one(server: Server, limit: int) -> None:
    with pytest.raises(ValueError, match="limit must be a number of calls of at least 1"):
        server.add_resource(plain, "it://{a}", limit=limit)
