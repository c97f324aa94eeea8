"""A function as the protocol sees it: parameters, binding, and what is refused."""

import dataclasses
import enum
import functools
import json
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import UNSET, Raw

from toolhaft import Complete, Context, InvalidParams, Unsafe
from toolhaft.errors import ParseError
from toolhaft.features.functions.signature import BadArguments, LargeArguments, Signature


def bound(function: Any, arguments: str) -> dict[str, Any]:
    return Signature(function, "tool 't'").bind(Raw(arguments.encode()))


def problems(function: Any, arguments: str) -> list[str]:
    with pytest.raises(BadArguments) as failure:
        bound(function, arguments)
    return failure.value.problems


def add(a: int, b: int = 2) -> int:
    return a + b


async def add_async(a: int) -> int:
    return a


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


# Binding


def test_arguments_are_bound_by_name() -> None:
    assert bound(add, '{"b":5,"a":1}') == {"a": 1, "b": 5}


def test_a_default_stands_in_for_what_is_missing() -> None:
    assert bound(add, '{"a":1}') == {"a": 1, "b": 2}


@pytest.mark.parametrize("raw", [UNSET, Raw(b"null"), Raw(b"{}"), Raw(b" { } ")])
def test_no_arguments_are_an_empty_object(raw: Any) -> None:
    def optional(a: int = 1) -> int:
        return a

    assert Signature(optional, "tool").bind(raw) == {"a": 1}


def test_a_mutable_default_is_a_copy_for_each_call() -> None:
    shared: list[int] = []

    def keeps(items: list[int] = shared) -> None: ...

    first, second = bound(keeps, "{}")["items"], bound(keeps, "{}")["items"]
    assert first == second == shared
    assert first is not shared
    assert first is not second


def test_values_are_made_what_the_annotations_say() -> None:
    def takes(point: Point, colour: Colour, pair: tuple[int, str], data: bytes) -> None: ...

    arguments = '{"point":{"x":1},"colour":"red","pair":[1,"a"],"data":"aGk="}'

    assert bound(takes, arguments) == {
        "point": Point(1, 0),
        "colour": Colour.RED,
        "pair": (1, "a"),
        "data": b"hi",
    }


def test_a_parameter_without_annotation_takes_anything() -> None:
    def takes(value): ...  # type: ignore[no-untyped-def]

    assert bound(takes, '{"value":[1,{"a":null}]}') == {"value": [1, {"a": None}]}


@pytest.mark.parametrize("text", ["[]", "1", '"a"', "[1,2]"])
def test_arguments_that_are_no_object_are_invalid_params(text: str) -> None:
    with pytest.raises(InvalidParams, match="object"):
        bound(add, text)


@pytest.mark.parametrize("text", ["{", '{"a":1}}', '{"a":\xff}', "{" * 5000])
def test_arguments_that_are_not_json_are_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError):
        Signature(add, "tool").bind(Raw(text.encode("latin-1")))


def test_every_problem_is_named_once() -> None:
    def takes(a: int, b: str, c: list[int]) -> None: ...

    found = problems(takes, '{"b":[],"c":[1,"x"],"d":1,"e":2}')

    assert [problem.split(":")[0] for problem in found] == ["b", "c[1]", "a", "d", "e"]
    assert found[:3] == [
        "b: expected a string, got []",
        'c[1]: expected an integer, got "x"',
        "a: missing",
    ]


def test_a_problem_never_echoes_a_long_name() -> None:
    [found] = problems(add, '{"a":1,"%s":1}' % ("x" * 10_000))

    assert len(found) < 400


def test_an_unknown_argument_is_told_what_is_known() -> None:
    assert problems(add, '{"a":1,"c":1}') == ["c: unknown argument; expected a, b"]


def test_strings_are_bound_as_what_they_spell() -> None:
    def takes(n: int, flag: bool, name: str) -> None: ...

    signature = Signature(takes, "prompt 'p'")

    assert signature.bind_strings({"n": "5", "flag": "true", "name": "x"}) == {
        "n": 5,
        "flag": True,
        "name": "x",
    }
    with pytest.raises(BadArguments) as failure:
        signature.bind_strings({"n": "five", "flag": "true"})
    assert [problem.split(":")[0] for problem in failure.value.problems] == ["n", "name"]


# Parameters


def test_a_context_is_injected_and_not_published() -> None:
    def takes(a: int, ctx: Context, b: int, other: Annotated[Context, "x"]) -> None: ...

    signature = Signature(takes, "tool")

    assert signature.contexts == ["ctx", "other"]
    assert list(signature.schema["properties"]) == ["a", "b"]
    assert signature.bind(Raw(b'{"a":1,"b":2}')) == {"a": 1, "b": 2}


def test_a_client_cannot_give_what_is_injected() -> None:
    def takes(ctx: Context) -> None: ...

    assert problems(takes, '{"ctx":{}}') == ["ctx: unknown argument; expected no arguments"]


def test_a_parameter_says_what_its_annotation_says() -> None:
    def takes(
        a: Annotated[str, "what it is"],
        b: Annotated[int, msgspec.Meta(ge=1), "how many"] = 1,
        c: Annotated[str, Unsafe] = "",
        d: Literal["x", "y"] = "x",
        e: Annotated[str, Complete(lambda value: [value])] = "",
    ) -> None: ...

    by_name = {parameter.name: parameter for parameter in Signature(takes, "tool").parameters}

    assert by_name["a"].description == "what it is"
    assert by_name["a"].required is True
    assert by_name["b"].description == "how many"
    assert by_name["b"].default == 1
    assert by_name["c"].unsafe is True
    assert by_name["d"].completer is not None
    assert by_name["e"].completer is not None
    assert by_name["a"].completer is None


def test_a_constraint_holds() -> None:
    def takes(n: Annotated[int, msgspec.Meta(ge=1)]) -> None: ...

    assert bound(takes, '{"n":1}') == {"n": 1}
    assert len(problems(takes, '{"n":0}')) == 1


def test_a_coroutine_function_is_known_for_one() -> None:
    class Callable:
        async def __call__(self, a: int) -> int:
            return a

        async def method(self, a: int) -> int:
            return a

    assert Signature(add_async, "tool").call_style == "async"
    assert Signature(Callable(), "tool").call_style == "async"
    assert Signature(Callable().method, "tool").call_style == "async"
    assert Signature(functools.partial(add_async, a=1), "tool").call_style == "async"
    assert Signature(add, "tool").call_style == "plain"


def test_a_partial_needs_only_what_is_left() -> None:
    signature = Signature(functools.partial(add, b=7), "tool")

    assert list(signature.schema["properties"]) == ["a"]
    assert signature.function(**signature.bind(Raw(b'{"a":1}'))) == 8


def test_methods_classmethods_and_instances_can_be_called() -> None:
    class Box:
        def method(self, a: int) -> int:
            return a

        @classmethod
        def make(cls, a: int) -> int:
            return a

        def __call__(self, a: int) -> int:
            return a

    for function in (Box().method, Box.make, Box()):
        assert bound(function, '{"a":1}') == {"a": 1}


@pytest.mark.parametrize(
    "name", ["class_", "json", "copy", "self_", "_private", "__struct_fields__"]
)
def test_a_parameter_may_have_an_odd_name(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def takes({name}: int): ...", scope)

    assert bound(scope["takes"], json.dumps({name: 1})) == {name: 1}


# What cannot be a parameter


def _var_positional(*args: int) -> None: ...
def _var_keyword(**kwargs: int) -> None: ...
def _positional_only(a: int, /) -> None: ...
def _unknown_type(sock: complex) -> None: ...
def _unknown_inside(socks: list[complex]) -> None: ...
def _unbound(self, a: int) -> None: ...  # type: ignore[no-untyped-def]


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (_var_positional, "args"),
        (_var_keyword, "kwargs"),
        (_positional_only, "'a'"),
        (_unknown_type, "'sock'"),
        (_unknown_inside, "'socks'"),
        (_unbound, "'self'"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_cannot_be_a_parameter_is_refused_by_name(function: Any, named: str) -> None:
    with pytest.raises(TypeError) as failure:
        Signature(function, "tool 't'")

    assert str(failure.value).startswith("tool 't': ")
    assert named in str(failure.value)


def test_an_annotation_that_names_nothing_is_refused() -> None:
    def takes(a: "NoSuchThing") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(TypeError, match="NoSuchThing"):
        Signature(takes, "tool 't'")


# Patterns


def test_a_pattern_that_may_take_for_ever_is_refused() -> None:
    def takes(name: Annotated[str, msgspec.Meta(pattern="^(a+)+$")]) -> None: ...

    with pytest.raises(TypeError, match=r"parameter 'name': the pattern '\^\(a\+\)\+\$' may take"):
        Signature(takes, "tool 't'")


def test_one_in_a_class_is_refused_as_well() -> None:
    @dataclasses.dataclass
    class Person:
        name: Annotated[str, msgspec.Meta(pattern="(a|a)*b")]

    def takes(people: list[Person]) -> None: ...

    with pytest.raises(TypeError, match=r"may take for ever.*; write it so that [^;]*$"):
        Signature(takes, "tool 't'")


def test_a_text_may_be_long_for_a_pattern_that_takes_as_long_as_the_text() -> None:
    def takes(name: Annotated[str, msgspec.Meta(pattern="^[a-z]+$")]) -> None: ...

    assert bound(takes, '{"name":"%s"}' % ("a" * 10_000)) == {"name": "a" * 10_000}


def test_a_text_is_not_matched_with_a_pattern_for_which_it_is_too_long() -> None:
    def takes(names: list[Annotated[str, msgspec.Meta(pattern="[a-z]+@")]]) -> None: ...

    signature = Signature(takes, "tool 't'")
    arguments = Raw(b'{"names":["%b","a@"]}' % (b"a" * 10_000))
    with pytest.raises(LargeArguments):
        signature.bind(arguments)
    with pytest.raises(BadArguments) as refused:
        signature.bind_large(arguments)

    assert refused.value.problems == [
        "names: holds 10,002 characters, and at most 2,000 are matched with a pattern that can be "
        "matched in several ways"
    ]
    assert signature.bind(Raw(b'{"names":["a@"]}')) == {"names": ["a@"]}
