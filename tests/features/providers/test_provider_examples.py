"""The examples of providers as processes, by clients of both eras over stdio and HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.server.clients import PROCESSES, ROOT, ByFile, following

from toolhaft import McpError
from toolhaft.testing import Client, assert_error

pytestmark = pytest.mark.process
EXAMPLES = ROOT / "examples"
every_client = pytest.mark.parametrize("connect", PROCESSES.values(), ids=PROCESSES)


async def call(client: Client, name: str, /, **arguments: Any) -> str:
    return (await client.call_raw(name, arguments)).text


async def tools(client: Client) -> list[str]:
    return [each.name for each in await client.list_tools()]


async def uris(client: Client) -> list[str]:
    return [each.uri for each in await client.list_resources()]


async def is_lost(client: Client, uri: str) -> bool:
    with pytest.raises(McpError) as refused:
        await client.read(uri)
    return refused.value.code in (-32002, -32602)


# Class-based, custom and automatic calls


@every_client
async def test_factorials_by_heart_and_by_the_method(connect: ByFile) -> None:
    """L-15, L-23: the handler first, then the method, then what a call has changed."""
    async with connect(EXAMPLES / "factorial.py") as client:
        assert await tools(client) == ["factorial", "learn"]
        assert await call(client, "factorial", n=4) == "4! = 24 (by heart)"
        assert await call(client, "factorial", n=6) == "6! = 720"
        assert await call(client, "learn", n=6) == "6"
        assert await call(client, "factorial", n=6) == "6! = 720 (by heart)"
        assert json.loads(await client.read("factorials://known"))["6"] == 720


@every_client
async def test_factorials_that_cannot_be(connect: ByFile) -> None:
    """L-28, E-25: the text of a ToolError, and nothing else."""
    async with connect(EXAMPLES / "factorial.py") as client:
        wrong = await client.call_raw("factorial", {"n": -1})
        missing = await call(client, "factorial")
        [(_, words)] = (await client.prompt("exercise", n="3")).texts

    assert wrong.is_error
    assert wrong.text == "n must be between 0 and 1000, not -1"
    assert missing == "invalid arguments for factorial:\nn: missing"
    assert words.startswith("Work out 3!")


# Explicit tools and resources that change


@every_client
async def test_notes_come_and_go_while_a_client_is_connected(connect: ByFile) -> None:
    """E-15, E-30, E-32, E-46: explicit tools, templates, and resources changed at run time."""
    async with (
        connect(EXAMPLES / "notes.py") as client,
        following(client, "notes://all/milk") as heard,
    ):
        before = await uris(client)
        wrote = await call(client, "write", title="milk", text="two", style={"colour": "green"})

        assert (before, wrote) == ([], "wrote milk")
        assert (await heard.next()).method == "notifications/resources/list_changed"
        assert await uris(client) == ["notes://all/milk"]
        assert await client.read("notes://all/milk") == "two"
        assert await client.read("notes://find/milk") == "two"
        await call(client, "write", title="milk", text="three", tags=["food"])
        told = {(await heard.next()).method for _ in range(2)}
        assert told == {
            "notifications/resources/list_changed",
            "notifications/resources/updated",
        }
        assert await client.read("notes://all/milk") == "three"
        assert await call(client, "drop", title="milk") == "dropped milk"
        assert await uris(client) == []
        assert await is_lost(client, "notes://find/milk")


@every_client
async def test_notes_can_be_locked(connect: ByFile) -> None:
    async with connect(EXAMPLES / "notes.py") as client, following(client) as heard:
        await call(client, "lock", locked=True)

        assert (await heard.next()).method == "notifications/tools/list_changed"
        assert await tools(client) == ["lock"]
        with pytest.raises(McpError) as refused:
            await client.call("write", title="a", text="b")
        assert_error(refused.value, -32602, "write")
        await call(client, "lock", locked=False)
        assert await tools(client) == ["write", "drop", "lock"]


@every_client
async def test_notes_check_their_arguments_at_any_depth(connect: ByFile) -> None:
    """E-16, E-17: enum, items and properties are checked."""
    async with connect(EXAMPLES / "notes.py") as client:
        wrong = await call(client, "write", title="a", tags=[1], style={"colour": "red"})

    assert wrong.splitlines() == [
        "invalid arguments for write:",
        "tags[0]: expected a string, got 1",
        'style.colour: must be one of "yellow", "green", got "red"',
        "text: missing",
    ]


# The advanced service on a directory


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "root"
    (root / "deep").mkdir(parents=True)
    (root / "a b.txt").write_text("spaced")
    (root / "deep/c.md").write_text("deep")
    (root / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "secret").write_text("secret")
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "up").symlink_to(tmp_path)
    monkeypatch.setenv("FILES_ROOT", str(root))
    return root


@every_client
async def test_files_are_found_and_read(connect: ByFile, folder: Path) -> None:
    """B-15: only lists and handlers; the list is what is there now."""
    async with connect(EXAMPLES / "files.py") as client:
        found = await client.call("find", pattern="*.md")
        (folder / "new.txt").write_text("new")

        assert await tools(client) == ["read", "find"]
        assert found == {"paths": ["deep/c.md"]}
        assert await call(client, "read", path="deep/c.md") == "deep"
        assert await uris(client) == [
            "dir:///a%20b.txt",
            "dir:///bytes",
            "dir:///deep/c.md",
            "dir:///new.txt",
        ]
        assert await client.read("dir:///a%20b.txt") == "spaced"
        assert await client.read("dir:///deep/c.md") == "deep"
        assert await client.read("dir:///bytes") == b"\xff\xfe"
        assert await is_lost(client, "dir:///deep")


@every_client
async def test_nothing_outside_of_the_directory_is_read(connect: ByFile, folder: Path) -> None:
    paths = [
        "../secret",
        "/etc/passwd",
        "deep/../../secret",
        "out",
        "up/secret",
        "..",
        "a\0b",
        "~/x",
    ]
    async with connect(EXAMPLES / "files.py") as client:
        for path in paths:
            called = await client.call_raw("read", {"path": path})
            escaped = "".join(f"%{ord(char):02x}" for char in path)

            assert called.is_error, path
            assert str(folder.parent) not in called.text
            assert await is_lost(client, "dir:///" + path.replace("\0", "%00")), path
            assert await is_lost(client, "dir:///" + escaped), path


@every_client
async def test_what_is_no_text_is_refused_in_words(connect: ByFile, folder: Path) -> None:
    async with connect(EXAMPLES / "files.py") as client:
        assert await call(client, "read", path="bytes") == "cannot read 'bytes': it is no text"
        assert await call(client, "read", path="none") == (
            "cannot read 'none': No such file or directory"
        )
        with pytest.raises(McpError) as refused:
            await client.call("remove", path="bytes")
        assert_error(refused.value, -32602, "remove")
