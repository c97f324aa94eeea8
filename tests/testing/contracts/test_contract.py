"""Contracts: what is written, when a test fails, and what it says of clients."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.testing.contracts.changes import in_an_object, made, told

from toolhaft import Context, McpError, Server
from toolhaft.calls.output import Sink
from toolhaft.calls.service import connected
from toolhaft.testing import ContractChanged, assert_contract, contract_of
from toolhaft.testing.contracts.snapshot import BadContract, listed, read, written

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("TOOLHAFT_UPDATE_CONTRACT", raising=False)


# The file


def test_everything_that_a_server_lists_is_written(tmp_path: Path) -> None:
    assert_contract(made(), tmp_path / "shop.lock")

    found = json.loads((tmp_path / "shop.lock").read_text())
    assert found["contract"] == 1
    assert found["server"] == {"name": "shop"}
    assert found["instructions"] == ["Sells.", "And sends."]
    assert list(found["capabilities"]) == ["logging", "prompts", "resources", "tools"]
    assert list(found["tools"]) == ["find", "order"]
    assert found["tools"]["find"]["description"] == ["Find something.", "", "It takes a while."]
    assert found["tools"]["find"]["annotations"] == {"readOnlyHint": True}
    assert found["tools"]["find"]["outputSchema"]["required"] == ["x"]
    assert found["resources"]["shop://prices"]["mimeType"] == "text/csv"
    assert list(found["templates"]) == ["shop://article/{number}"]
    assert found["prompts"]["advice"]["arguments"] == {
        "about": {"required": True},
        "tone": {},
    }


def test_the_order_of_things_and_the_version_do_not_matter(tmp_path: Path) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    first, second = Server("s", version="1.0.0"), Server("s", version="2.0.0")
    for server, names in ((first, "ab"), (second, "ba")):
        for name in names:
            server.add_tool(add, name=name)
        assert_contract(server, tmp_path / "s.lock")

    assert (tmp_path / "s.lock").read_text().endswith("}\n")


async def test_all_pages_are_listed() -> None:
    server = Server("many", page_size=3)
    for number in range(10):
        server.add_tool(lambda: None, name=f"tool-{number}")

    assert len((await contract_of(server))["tools"]) == 10


async def test_pages_that_never_end_are_not_followed() -> None:
    async def request(method: str, params: Json) -> Json:
        return {"capabilities": {"tools": {}}, "tools": [], "nextCursor": "again"}

    with pytest.raises(AssertionError, match="tools/list gives the cursor 'again' twice"):
        await listed(request)


@pytest.mark.parametrize("text", ["<<<<<<< HEAD\n{}", "[]", '{"contract": 2}', '{"tools": {}}'])
def test_a_file_that_is_no_contract_is_named(text: str) -> None:
    with pytest.raises(BadContract, match=r"^shop\.lock: .*anew"):
        read(text, "shop.lock")


# When a test fails


def test_what_is_as_it_was_passes(tmp_path: Path) -> None:
    assert_contract(made(), tmp_path / "shop.lock")
    before = (tmp_path / "shop.lock").stat().st_mtime_ns

    assert_contract(made(), tmp_path / "shop.lock")

    assert (tmp_path / "shop.lock").stat().st_mtime_ns == before


def test_a_change_fails_and_says_what_breaks(tmp_path: Path) -> None:
    path = tmp_path / "shop.lock"
    assert_contract(made(), path)
    server = made()
    server.tools["order"].remove()
    server.add_tool(lambda: None, name="refund")

    with pytest.raises(ContractChanged) as caught:
        assert_contract(server, path)

    assert str(caught.value) == (
        "shop.lock: 2 changes, 1 of them breaks clients\n"
        "\n"
        "breaks clients:\n"
        "  tool order: is gone\n"
        "\n"
        "breaks nobody:\n"
        "  tool refund: is new\n"
        "\n"
        "If that is what you want, write the file anew with pytest --update-contract, or with\n"
        "TOOLHAFT_UPDATE_CONTRACT=1, and commit it."
    )
    assert [each.breaks for each in caught.value.differences] == [True, False]


def test_a_change_that_breaks_nobody_fails_too(tmp_path: Path) -> None:
    assert_contract(made(), tmp_path / "shop.lock")
    server = made()
    server.add_tool(lambda: None, name="refund")

    with pytest.raises(ContractChanged, match="1 change, none of them break clients"):
        assert_contract(server, tmp_path / "shop.lock")


def test_an_update_writes_the_file_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "shop.lock"
    assert_contract(made(), path)
    server = made()
    server.tools["order"].remove()

    assert_contract(server, path, update=True)
    assert_contract(server, path)
    monkeypatch.setenv("TOOLHAFT_UPDATE_CONTRACT", "1")
    assert_contract(made(), path)
    monkeypatch.setenv("TOOLHAFT_UPDATE_CONTRACT", "0")

    assert_contract(made(), path)


def test_ci_does_not_write_the_first_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(ContractChanged, match=r"is not there; .* commit it"):
        assert_contract(made(), tmp_path / "shop.lock")

    assert not (tmp_path / "shop.lock").exists()


def test_a_path_is_beside_the_file_that_names_it() -> None:
    path = Path(__file__).parent / "beside.lock"
    try:
        assert_contract(made(), "beside.lock")
        assert path.exists()
    finally:
        path.unlink(missing_ok=True)


# Loops


async def test_in_a_running_loop_it_is_the_same(tmp_path: Path) -> None:
    server = made()
    assert_contract(server, tmp_path / "shop.lock")

    assert_contract(server, tmp_path / "shop.lock")
    assert_contract(await contract_of(server), tmp_path / "shop.lock")

    assert written(await contract_of(server)) == (tmp_path / "shop.lock").read_text()


async def test_a_lifespan_that_is_under_way_is_left_alone(tmp_path: Path) -> None:
    log: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncGenerator[None]:
        log.append("entered")
        yield
        log.append("left")

    server = Server("s", lifespan=lifespan)
    server.add_tool(lambda: 1, name="one")
    async with connected(server, Sink(lambda frame: None)):
        await asyncio.sleep(0)
        assert_contract(server, tmp_path / "s.lock")
        assert log == ["entered"]

    assert log == ["entered", "left"]


def test_what_a_list_raises_is_told(tmp_path: Path) -> None:
    async def refuse(exchange: Any, call: Any) -> Any:
        raise McpError("not today")

    server = Server("s", middleware=[refuse])

    with pytest.raises(AssertionError, match="server/discover failed: not today"):
        assert_contract(server, tmp_path / "shop.lock")


# What breaks clients


def test_a_tool_with_a_context_lists_no_context() -> None:
    server = Server("s")

    @server.tool
    def tool(ctx: Context, a: int) -> None: ...

    contract = asyncio.run(contract_of(server))
    assert list(contract["tools"]["tool"]["inputSchema"]["properties"]) == ["a"]


def test_a_header_is_looked_for_where_clients_look_for_it() -> None:
    plain, mirrored = {"type": "string"}, {"type": "string", "x-mcp-header": "Region"}
    before = in_an_object(to=in_an_object(region=plain))
    after = in_an_object(to=in_an_object(region=mirrored))

    place = "tool t, argument to.region: x-mcp-header"
    assert told(before, after) == [(True, f"{place} was not there, is Region")]
    assert told(after, before) == [(False, f"{place} was Region, is not there")]


def test_definitions_that_lead_to_themselves_are_compared() -> None:
    def schema(**more: Any) -> Json:
        node = in_an_object(next={"$ref": "#/$defs/Node"}, **more)
        return {**in_an_object(first={"$ref": "#/$defs/Node"}), "$defs": {"Node": node}}

    changed = told(schema(name={"type": "string"}), schema())
    assert (True, "tool t, argument first.name: is gone") in changed


def test_what_is_no_server_has_no_contract(tmp_path: Path) -> None:
    wrong: Any = "server.py"

    with pytest.raises(
        TypeError, match="a contract is of a Server, or what contract_of gave, not "
    ):
        assert_contract(wrong, tmp_path / "wrong.lock")
    assert not (tmp_path / "wrong.lock").exists()
