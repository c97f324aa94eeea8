"""Arguments that HTTP headers repeat: which may be, and what they are compared with."""

from dataclasses import dataclass
from typing import Annotated, Any, NewType

import pydantic
import pytest
from msgspec import Meta, Raw, Struct

from toolhaft import Server
from toolhaft.errors import HeaderMismatch
from toolhaft.features.functions.header_check import check_mirrors
from toolhaft.features.functions.mirrored_headers import Mirrored, mirrored
from toolhaft.testing import Client

REGION = (Mirrored(("region",), "Region"),)


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def marked(kind: Any, header: Any = "Region") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": header}


def test_marks_are_found_in_properties_and_in_their_properties() -> None:
    inner = schema(b=marked("integer", "B"))

    found = tuple(mirrored(schema(a=marked("string", "A"), c=inner)))

    assert found == (Mirrored(("a",), "A"), Mirrored(("c", "b"), "B"))


def test_a_tool_with_a_bad_mark_is_refused_when_it_is_registered() -> None:
    def locate(at: Annotated[float, Meta(extra_json_schema={"x-mcp-header": "At"})]) -> None: ...

    with pytest.raises(ValueError, match="x-mcp-header needs the"):
        Server("s").add_tool(locate)


Marked = Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})]


@dataclass
class Inner:
    region: Marked


class Model(pydantic.BaseModel):
    region: str = pydantic.Field(json_schema_extra={"x-mcp-header": "Region"})


class Holding(pydantic.BaseModel):
    inner: Model


class Recursive(Struct):
    region: Marked
    inner: "Recursive | None" = None


@pytest.mark.parametrize(
    "annotation",
    [
        list[Inner],
        dict[str, Inner],
        Inner | str,
        tuple[Inner, int],
        list[Marked],
        dict[str, Marked],
        tuple[Marked, ...],
        Marked | int,
        list[Model],
        Recursive,
        NewType("Many", list[Inner]),  # type: ignore[valid-newtype]
    ],
)
def test_a_mark_that_clients_cannot_find_is_refused_when_it_is_registered(annotation: Any) -> None:
    def locate(at: Any) -> None: ...

    locate.__annotations__["at"] = annotation

    with pytest.raises(ValueError, match="must be on a property, reached by properties alone"):
        Server("s").add_tool(locate)


@pytest.mark.parametrize(
    ("annotation", "path"),
    [
        (Inner, ("at", "region")),
        (Model, ("at", "region")),
        (Holding, ("at", "inner", "region")),
    ],
)
async def test_a_mark_in_a_class_is_found(annotation: Any, path: tuple[str, ...]) -> None:
    def locate(at: Any) -> None: ...

    locate.__annotations__["at"] = annotation
    server = Server("s")
    server.add_tool(locate)

    async with Client(server) as client:
        schema = (await client.tool("locate")).input_schema

    assert tuple(mirrored(schema)) == (Mirrored(path, "Region"),)


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        (b'{"region":"eu"}', "eu"),
        (b'{"region":"Hello"}', "=?base64?SGVsbG8=?="),
        (b'{"region":"SGVsbG8="}', "SGVsbG8="),
        (b'{"region":42}', "42"),
        (b'{"region":42}', "42.0"),
        (b'{"region":42.0}', "42"),
        (b'{"region":true}', "true"),
        (b'{"region":false}', "false"),
        (b'{"region":null}', None),
        (b"{}", None),
        (b"[]", "nobody says so here"),
    ],
)
def test_a_header_that_says_the_same_is_accepted(arguments: bytes, header: str | None) -> None:
    headers = {} if header is None else {"mcp-param-Region": header}

    assert check_mirrors(headers, Raw(arguments), REGION) is None


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        (b'{"region":"eu"}', "us"),
        (b'{"region":"eu"}', None),
        (b'{"region":"eu"}', "=?base64?ZXU?="),
        (b'{"region":42}', "43"),
        (b'{"region":42}', "42.5"),
        (b'{"region":42}', "=?base64?!?="),
        (b'{"region":9007199254740992}', "9007199254740992"),
        (b'{"region":true}', "True"),
        (b'{"region":null}', "eu"),
        (b"{}", "eu"),
    ],
)
def test_a_header_that_says_something_else_is_refused(arguments: bytes, header: str | None) -> None:
    headers = {} if header is None else {"mcp-param-Region": header}

    with pytest.raises(HeaderMismatch, match="Mcp-Param-Region"):
        check_mirrors(headers, Raw(arguments), REGION)
