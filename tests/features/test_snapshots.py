"""The schemas of all types of the matrix, to the byte: the same on every version of Python.

After a change that is meant, `python -m tests.features.test_snapshots` writes them anew.
"""

import collections.abc
import json
import os
import pathlib
import subprocess
import sys
import types
import typing
from typing import Annotated, Any

import msgspec
import pytest
from tests.features.test_matrix import (
    DEFAULTS,
    OBJECTS,
    PARAMETERS,
    VALUES,
    Box,
    Colour,
    Inner,
    Node,
    Point,
)

from toolhaft.schema.fields import MISSING
from toolhaft.schema.from_types import object_schema, schema_of

FILE = pathlib.Path(__file__).with_name("schemas.json")
ROOT = pathlib.Path(__file__).parents[2]


def found() -> dict[str, dict[str, Any]]:
    """The schemas as they are now, by what they are of."""
    return {
        "parameters": {
            case.name: object_schema([("v", case.annotation, None, MISSING)], ["v"])
            for case in PARAMETERS
        },
        "defaults": {
            case.name: object_schema([("v", case.annotation, None, case.default)], [])
            for case in DEFAULTS
            if not case.name.startswith("Field")
        },
        "results": {
            case.name: schema_of(case.annotation)
            for case in [*VALUES, *OBJECTS]
            if case.schema is not None
        },
    }


def written() -> str:
    """The file: one line for each schema, so that a change is easy to see."""
    groups = [
        f"{json.dumps(kind)}: {{\n"
        + ",\n".join(f" {json.dumps(name)}: {json.dumps(each)}" for name, each in schemas.items())
        + "\n}"
        for kind, schemas in found().items()
    ]
    return "{\n" + ",\n".join(groups) + "\n}\n"


NOW = found()
STORED: dict[str, dict[str, Any]] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, schemas in NOW.items() for name in schemas]
)
def test_a_schema_is_what_it_was(kind: str, name: str) -> None:
    # As text, for the order of members counts: a model reads them one after the other.
    assert json.dumps(NOW[kind][name]) == json.dumps(STORED[kind][name])


def test_no_schema_is_forgotten_or_left_over() -> None:
    assert {kind: list(schemas) for kind, schemas in STORED.items()} == {
        kind: list(schemas) for kind, schemas in NOW.items()
    }


def keys(schema: Any) -> collections.abc.Iterator[str]:
    """The keywords in a schema; the names of properties are no keywords."""
    if isinstance(schema, list):
        for each in schema:
            yield from keys(each)
    elif isinstance(schema, dict):
        yield from schema
        for name, value in schema.items():
            if name in ("properties", "$defs"):
                for each in value.values():
                    yield from keys(each)
            elif name not in ("default", "enum", "examples"):
                yield from keys(value)


@pytest.mark.parametrize("kind", ["parameters", "defaults", "results"])
def test_a_schema_is_lean(kind: str) -> None:
    used = {key for schema in STORED[kind].values() for key in keys(schema)}

    assert used.isdisjoint({"title", "$schema", "$id", "oneOf", "allOf", "definitions"})


@pytest.mark.parametrize("kind", ["parameters", "defaults", "results"])
def test_only_what_contains_itself_is_a_reference(kind: str) -> None:
    shared = {name for schema in STORED[kind].values() for name in schema.get("$defs", {})}

    assert shared <= {"Node", "Chain"}


@pytest.mark.parametrize("seed", ["1", "2"])
@pytest.mark.process
def test_the_seed_of_hashes_does_not_matter(seed: str) -> None:
    code = "import sys; from tests.features.test_snapshots import written; "
    code += "sys.stdout.buffer.write(written().encode())"

    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=True,
    )

    assert run.stdout.decode() == FILE.read_text("utf-8")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (typing.Optional[int], int | None),  # noqa: UP045
        (typing.Union[int, str], int | str),  # noqa: UP007
        (typing.Union[int, None, str], int | None | str),  # noqa: UP007
        (typing.Optional[Point], Point | None),  # noqa: UP045
        (typing.Optional[typing.Literal["a"]], typing.Literal["a"] | None),  # noqa: UP045
        (typing.List[int], list[int]),  # noqa: UP006
        (typing.Dict[str, int], dict[str, int]),  # noqa: UP006
        (typing.Tuple[int, ...], tuple[int, ...]),  # noqa: UP006
        (typing.Tuple[int, str], tuple[int, str]),  # noqa: UP006
        (typing.Set[int], set[int]),  # noqa: UP006
        (typing.FrozenSet[int], frozenset[int]),  # noqa: UP006
        (typing.Sequence[int], collections.abc.Sequence[int]),
        (typing.Mapping[str, int], collections.abc.Mapping[str, int]),
        (typing.List[typing.Optional[Node]], list[Node | None]),  # noqa: UP006, UP045
        (typing.Any, object),
        (None, type(None)),
        (Annotated[Annotated[int, "a"], "b"], Annotated[int, "a", "b"]),
        (Annotated[int, "many"], Annotated[int, msgspec.Meta(description="many")]),
        (list[Colour], typing.List["Colour"]),  # noqa: UP006
        (Box[int], Box[int]),
        (Inner, Inner),
    ],
    ids=str,
)
def test_two_spellings_of_a_type_have_one_schema(one: Any, other: Any) -> None:
    def published(annotation: Any) -> str:
        def function(v: Any) -> None: ...

        function.__annotations__["v"] = annotation
        hint = typing.get_type_hints(function, include_extras=True)["v"]
        return json.dumps(object_schema([("v", hint, None, MISSING)], ["v"]))

    assert published(one) == published(other)


SOURCE = """
import dataclasses
import typing
import msgspec

@dataclasses.dataclass
class Data:
    a: int | None
    b: list[Data]
    c: typing.Literal["x", "y"] = "x"

class Typed(typing.TypedDict):
    a: int
    b: typing.NotRequired[str | None]

class Named(typing.NamedTuple):
    a: int
    b: str

class Plain(msgspec.Struct):
    a: int | None
    b: list[Plain] = []
"""


@pytest.mark.parametrize("name", ["Data", "Typed", "Named", "Plain"])
def test_annotations_that_are_strings_have_the_same_schema(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(module: str, source: str) -> Any:
        made = types.ModuleType(module)
        monkeypatch.setitem(sys.modules, module, made)
        exec(source, made.__dict__)
        return vars(made)[name]

    quoted = SOURCE.replace("list[Data]", '"list[Data]"').replace("list[Plain]", '"list[Plain]"')
    as_types = made("snapshots_of_types", quoted)
    as_strings = made("snapshots_of_strings", "from __future__ import annotations\n" + SOURCE)

    assert json.dumps(schema_of(as_types)) == json.dumps(schema_of(as_strings))


if __name__ == "__main__":
    FILE.write_text(written(), "utf-8")
