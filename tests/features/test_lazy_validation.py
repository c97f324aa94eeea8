"""Schemas given by hand, checked by jsonschema-rs if it is there and by ourselves if it is not."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from toolhaft import Arg, Server, ToolInfo
from toolhaft.features import lazy_validation
from toolhaft.testing import Client

Json = dict[str, Any]
ORDER = {
    "type": "object",
    "properties": {
        "days": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "size": {"enum": ["s", "m"]},
    },
    "required": ["days"],
    "additionalProperties": False,
}
BEYOND = {"type": "object", "properties": {"days": {}}, "unevaluatedProperties": False}


@pytest.fixture(params=["jsonschema-rs", "our own"])
def checker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Who checks."""
    lazy_validation._compiler.cache_clear()
    if request.param == "our own":
        monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
        monkeypatch.delitem(sys.modules, "toolhaft.schema.validation.compiled", raising=False)
    assert (lazy_validation._compiler() is None) == (request.param == "our own")
    yield request.param
    lazy_validation._compiler.cache_clear()


class Orders:
    """An advanced service."""

    def tools(self) -> list[ToolInfo]:
        where = Arg("where", dict, properties=[Arg("zip", int, "what it is")], optional=True)
        return [
            ToolInfo("order", input_schema=ORDER, output_schema=ORDER),
            ToolInfo("args", args=[Arg("days", int, "what it is"), where]),
        ]

    def call_tool(self, name: str, arguments: Json) -> Any:
        return arguments if arguments["days"] < 100 else {"days": "many"}


def serving() -> Server:
    server = Server("orders", version="1", providers=[Orders()])

    @server.tool(input_schema=ORDER)
    def typed(days: int, tags: list[str] | None = None, size: str = "m") -> str:
        return f"{days!r} {tags} {size}"

    return server


async def call(server: Server, name: str, /, **arguments: Any) -> tuple[bool, str]:
    async with Client(server) as client:
        called = await client.call_raw(name, arguments)
    return called.is_error, called.text


@pytest.mark.usefixtures("checker")
@pytest.mark.parametrize("name", ["order", "typed"])
@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"days": "three"}, ['days: expected an integer, got "three"']),
        ({"days": 0}, ["days: must be at least 1, got 0"]),
        ({"days": 1, "day": 2}, ["day: unknown argument; expected days, tags, size"]),
        ({"days": 1, "tags": ["a", 5]}, ["tags[1]: expected a string, got 5"]),
        ({"size": "l"}, ['size: must be one of "s", "m", got "l"', "days: missing"]),
        ({"days": "x" * 999}, [f'days: expected an integer, got "{"x" * 199}…']),
    ],
)
async def test_what_is_wrong_is_told_in_the_same_words(
    name: str, arguments: Json, lines: list[str]
) -> None:
    assert await call(serving(), name, **arguments) == (
        True,
        "\n".join([f"invalid arguments for {name}:", *lines]),
    )


@pytest.mark.usefixtures("checker")
async def test_what_fits_is_handed_on() -> None:
    server = serving()

    assert await call(server, "order", days=3, tags=["a"]) == (False, '{"days":3,"tags":["a"]}')
    assert await call(server, "typed", days=3) == (False, "3 None m")
    assert await call(server, "args", days=3, where={"zip": 1}) == (
        False,
        '{"days":3,"where":{"zip":1}}',
    )


@pytest.mark.usefixtures("checker")
async def test_a_function_with_annotations_is_still_lenient() -> None:
    server = serving()

    assert await call(server, "typed", days="3", tags='["a"]') == (False, "3 ['a'] m")
    assert (await call(server, "order", days="3"))[0]


@pytest.mark.usefixtures("checker")
async def test_arguments_one_by_one_are_checked_too() -> None:
    assert await call(serving(), "args", days=1, where={"zip": "x", "no": 1}) == (
        True,
        'invalid arguments for args:\nwhere.zip: expected an integer, got "x"\n'
        "where.no: unknown member; expected zip",
    )


@pytest.mark.usefixtures("checker")
async def test_a_result_is_checked_too(caplog: pytest.LogCaptureFixture) -> None:
    wrong, words = await call(serving(), "order", days=100)

    assert wrong
    assert "its result is not what it promises" in words
    assert 'result.days: expected an integer, got "many"' in caplog.text


async def test_keywords_that_we_do_not_check_need_the_extra(checker: str) -> None:
    server = Server("s", version="1")
    words = (
        "tool 'x': input_schema: unevaluatedProperties is not checked by this library; use "
        "additionalProperties, or install toolhaft[schema], which knows more"
    )

    if checker == "our own":
        with pytest.raises(ValueError, match="toolhaft") as refused:
            server.add_tool(dict, name="x", input_schema=BEYOND)
        assert str(refused.value) == words
    else:
        server.add_tool(lambda **given: str(given), name="x", input_schema=BEYOND)
        assert await call(server, "x", days=1) == (False, "{'days': 1}")
        assert await call(server, "x", day=1) == (
            True,
            "invalid arguments for x:\nday: unknown argument",
        )


@pytest.mark.usefixtures("checker")
@pytest.mark.parametrize("option", ["input_schema", "output_schema"])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}},
        {"type": "object", "properties": {"a": {"$ref": "file:///etc/hostname"}}},
        {"type": "object", "properties": {"a": {"type": "text"}}},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
    ],
)
def test_what_is_no_schema_is_refused_at_registration(option: str, schema: Json) -> None:
    def anything(**given: Any) -> Any: ...

    options: Json = {"input_schema": {"type": "object"}, option: schema}
    with pytest.raises(ValueError, match=rf"^tool 'anything': {option}: at properties\.a"):
        Server("s", version="1").add_tool(anything, **options)


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.process
def test_the_extra_is_loaded_when_a_schema_is_given_by_hand_and_not_before(hidden: bool) -> None:
    program = f"""
import json, sys
if {hidden}:
    sys.modules["jsonschema_rs"] = None
import toolhaft
server = toolhaft.Server("s", version="1")
before = bool(sys.modules.get("jsonschema_rs"))
server.add_tool(lambda **given: "", name="b", input_schema={{"type": "object"}})
print(json.dumps([before, bool(sys.modules.get("jsonschema_rs"))]))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False
    )

    assert ended.stderr == ""
    assert json.loads(ended.stdout) == [False, not hidden]
