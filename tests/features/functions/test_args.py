"""Arguments that an author describes one by one: published, checked, or refused."""

from typing import Any

import pytest
from tests.asking import outcome

from toolhaft import Arg, Server


def everything(**arguments: Any) -> Any:
    return arguments


async def schema(*args: Arg) -> Any:
    server = Server("s", version="1")
    server.add_tool(everything, args=args)
    [tool] = (await outcome(server, "tools/list"))["tools"]
    return tool["inputSchema"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (bool, "boolean"),
        (list, "array"),
        (dict, "object"),
        (None, "null"),
        (type(None), "null"),
        ("string", "string"),
        ("number", "number"),
        ("integer", "integer"),
        ("boolean", "boolean"),
        ("array", "array"),
        ("object", "object"),
        ("null", "null"),
    ],
)
async def test_every_type_of_json_has_a_name(kind: Any, name: str) -> None:
    """E-15, E-16: the seven types."""
    assert (await schema(Arg("x", kind, "what it is")))["properties"]["x"]["type"] == name


async def test_arguments_are_published_with_all_that_is_said_of_them() -> None:
    """E-16: enum, items and properties are honoured at any depth; upstream drops the last two."""
    found = await schema(
        Arg("pattern", str, "what to look for"),
        Arg("mode", str, enum=["a", "b"], optional=True),
        Arg("items", list, items=Arg(type=list, items=Arg(type=int, enum=[1, 2]))),
        Arg(
            "where",
            dict,
            properties=[Arg("x", dict, properties=[Arg("y", bool, "what it is")], optional=True)],
        ),
    )

    assert found == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "what to look for"},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "items": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "integer", "enum": [1, 2]}},
            },
            "where": {
                "type": "object",
                "properties": {
                    "x": {
                        "type": "object",
                        "properties": {"y": {"type": "boolean", "description": "what it is"}},
                        "required": ["y"],
                        "additionalProperties": False,
                    }
                },
                "additionalProperties": False,
            },
        },
        "required": ["pattern", "items", "where"],
        "additionalProperties": False,
    }


async def test_a_tool_may_take_no_arguments() -> None:
    """L-22: no inputs, no `required`; the same as of a function without parameters."""
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    server = Server("nothing", version="1")

    assert await schema() == nothing
    assert server.add_tool(lambda: "done", name="it").input_schema == nothing


def test_an_argument_without_a_type_is_refused_with_the_types_there_are() -> None:
    """E-15: upstream names the seven types as well."""
    with pytest.raises(TypeError) as refused:
        Arg("x", description="what it is")

    assert str(refused.value) == (
        "Arg('x'): type must be one of string, integer, number, boolean, array, object, null, or "
        "str, int, float, bool, list, dict or None in Python, and none is given"
    )


@pytest.mark.parametrize("description", [None, "", " \n"])
def test_an_argument_without_a_description_is_refused(description: str | None) -> None:
    with pytest.raises(TypeError, match=r"Arg\('x'\): a description is missing, .* say what it is"):
        Arg("x", int, description)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Arg("x", str, enum=["a", "b"]),
        lambda: Arg("x", list, items=Arg(type=int)),
        lambda: Arg("x", dict, properties=[Arg("y", int, "what it is")]),
        lambda: Arg("x", str, complete=lambda typed: [typed]),
        lambda: Arg(type=int),
    ],
)
def test_what_explains_itself_needs_no_description(make: Any) -> None:
    assert make().description is None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"where": {"deep": True}}, "pattern: missing"),
        ({"pattern": 3}, "pattern: expected a string, got 3"),
        ({"pattern": "x", "mode": "c"}, 'mode: must be one of "a", "b"'),
        ({"pattern": "x", "items": [1, "two"]}, 'items[1]: expected an integer, got "two"'),
        ({"pattern": "x", "where": {}}, "where.deep: missing"),
        ({"pattern": "x", "where": {"deep": "no"}}, "where.deep: expected a boolean"),
        ({"pattern": "x", "where": {"deep": True, "z": 1}}, "where.z: "),
        ({"pattern": "x", "other": 1}, "other: "),
    ],
)
async def test_arguments_are_checked_at_any_depth(arguments: Any, problem: str) -> None:
    """E-17, E-22: enum, required, types, and unknown names."""
    server = Server("s", version="1")
    server.add_tool(
        everything,
        args=[
            Arg("pattern", str, "what it is"),
            Arg("mode", str, enum=["a", "b"], optional=True),
            Arg("items", list, items=Arg(type=int), optional=True),
            Arg("where", dict, properties=[Arg("deep", bool, "what it is")], optional=True),
        ],
    )
    result = await outcome(server, "tools/call", name="everything", arguments=arguments)

    assert result["isError"]
    [line] = result["content"][0]["text"].splitlines()[1:]
    assert line.startswith(problem)


async def test_false_null_and_nothing_are_kept_apart() -> None:
    """E-23: JSON values reach the function as they are."""
    server = Server("s", version="1")
    server.add_tool(
        everything,
        args=[
            Arg("a", bool, "what it is", optional=True),
            Arg("b", None, "what it is", optional=True),
            Arg("c", dict, "what it is"),
        ],
    )
    called = await outcome(
        server, "tools/call", name="everything", arguments={"a": False, "b": None, "c": {}}
    )

    assert called["structuredContent"] == {"a": False, "b": None, "c": {}}


async def test_a_function_binds_by_name_and_its_defaults_hold() -> None:
    """E-17, E-29: bound by name, any callable, missing ones by their defaults."""

    def search(mode="plain", *, pattern):  # type: ignore[no-untyped-def]
        return f"{pattern} {mode}"

    server = Server("s", version="1")
    args = [Arg("pattern", str, "what it is"), Arg("mode", str, "what it is", optional=True)]
    server.add_tool(search, args=args, category="text")
    called = await outcome(server, "tools/call", name="search", arguments={"pattern": "x"})

    assert called["content"] == [{"type": "text", "text": "x plain"}]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Arg("", str, "what it is"), "Arg(''): a name is a str"),
        (lambda: Arg(3, str, "what it is"), "Arg(3): a name is a str"),  # type: ignore[arg-type]
        (lambda: Arg("x", set, "what it is"), "Arg('x'): type must be one of string, integer"),
        (lambda: Arg("x", "text", "what it is"), "Arg('x'): type must be"),
        (lambda: Arg("x", [int], "what it is"), "Arg('x'): type must be"),  # type: ignore[arg-type]
        (lambda: Arg("x", str, 3), "Arg('x'): description must be a str"),  # type: ignore[arg-type]
        (lambda: Arg("x", str, enum="ab"), "Arg('x'): enum must be a list"),
        (lambda: Arg("x", str, enum=[]), "Arg('x'): enum must be a list"),
        (lambda: Arg("x", int, enum=["a"]), "Arg('x'): enum has 'a', which is not of type integer"),
        (lambda: Arg("x", int, enum=[True]), "Arg('x'): enum has True"),
        (lambda: Arg("x", str, items=Arg(type=str)), "Arg('x'): items is for a list"),
        (lambda: Arg("x", list, items=int), "Arg('x'): items must be an Arg"),  # type: ignore[arg-type]
        (lambda: Arg("x", list, properties=[]), "Arg('x'): properties is for a dict"),
        (lambda: Arg("x", dict, properties=5), "Arg('x'): properties must be a list"),  # type: ignore[arg-type]
        (
            lambda: Arg("x", str, "what it is", optional="no"),
            "Arg('x'): optional must be True or False, not 'no'",
        ),  # type: ignore[arg-type]
        (
            lambda: Arg("x", dict, properties=[Arg(type=str)]),
            "Arg('x'): properties: item 0 has no name",
        ),
        (
            lambda: Arg(
                "x", dict, properties=[Arg("a", str, "what it is"), Arg("a", str, "what it is")]
            ),
            "Arg('x'): properties: there are two of the name 'a'",
        ),
    ],
)
def test_an_argument_that_is_none_is_refused_by_its_name(make: Any, words: str) -> None:
    """E-15: errors at registration name the argument."""
    with pytest.raises((TypeError, ValueError)) as refused:
        make()

    assert str(refused.value).startswith(words)


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (everything, {"args": ["x"]}, "tool 'everything': args: item 0 is no Arg, but 'x'"),
        (everything, {"args": "x"}, "tool 'everything': args must be a list"),
        (everything, {"args": 5}, "tool 'everything': args must be a list"),
        (everything, {"args": {"x": str}}, "tool 'everything': args must be a list"),
        (everything, {"args": [Arg(type=str)]}, "tool 'everything': args: item 0 has no name"),
        (
            everything,
            {"args": [Arg("x", str, "what it is"), Arg("x", str, "what it is")]},
            "tool 'everything': args: there are two",
        ),
        (everything, {"args": [], "input_schema": {}}, "tool 'everything': args and input_schema"),
        (lambda x: x, {"name": "f", "args": []}, "tool 'f': args does not require x"),
        (lambda: 1, {"name": "f", "args": [Arg("x", str, "what it is")]}, "tool 'f': args has x"),
        (
            lambda x: x,
            {"name": "f", "args": [Arg("x", str, "what it is", optional=True)]},
            "tool 'f': args does not require x",
        ),
        (3, {"args": []}, "what is registered is a function, not 3"),
        (everything, {"args": [], "category": 3}, "tool 'everything': category must be a str"),
    ],
)
def test_a_tool_whose_arguments_are_none_is_refused(
    function: Any, options: Any, words: str
) -> None:
    """E-14, E-15: name, function, arguments and category are checked at registration."""
    with pytest.raises((TypeError, ValueError)) as refused:
        Server("s").add_tool(function, **options)

    assert str(refused.value).startswith(words)


def test_arguments_that_say_the_same_are_equal() -> None:
    def made() -> Arg:
        return Arg("x", dict, "what", properties=[Arg("y", list, items=Arg(type=int))])

    assert made() == made()
    assert hash(made()) == hash(made())
    assert made() != Arg("x", dict, "what")
    assert made() != "x"
    assert repr(made()) == "Arg('x', 'object')"


def test_truth_values_are_suggested_as_json_writes_them() -> None:
    completer = Arg("loud", bool, enum=[True, False]).completer

    assert completer is not None
    assert completer.call("", {}, None)() == ["true", "false"]
