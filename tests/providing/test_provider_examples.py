"""The examples of providers as processes, by clients of both eras over stdio and HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.providing.clients import Client, hears
from tests.providing.processes import PROCESSES, ROOT, ByFile

EXAMPLES = ROOT / "examples"
every_client = pytest.mark.parametrize("connect", PROCESSES.values(), ids=PROCESSES)


async def call(client: Client, name: str, /, **arguments: Any) -> Any:
    called = await client.ask("tools/call", name=name, arguments=arguments)
    return called["content"][0]["text"] if "content" in called else called


async def tools(client: Client) -> list[str]:
    return [each["name"] for each in (await client.ask("tools/list"))["tools"]]


async def uris(client: Client) -> list[str]:
    return [each["uri"] for each in (await client.ask("resources/list"))["resources"]]


async def read(client: Client, uri: str) -> Any:
    found = await client.ask("resources/read", uri=uri)
    return found["contents"][0].get("text") if "contents" in found else found["code"]


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
        assert json.loads(await read(client, "factorials://known"))["6"] == 720


@every_client
async def test_factorials_that_cannot_be(connect: ByFile) -> None:
    """L-28, E-25: the text of a ToolError, and nothing else."""
    async with connect(EXAMPLES / "factorial.py") as client:
        wrong = await client.ask("tools/call", name="factorial", arguments={"n": -1})
        missing = await call(client, "factorial")
        got = await client.ask("prompts/get", name="exercise", arguments={"n": "3"})

    assert wrong["isError"] is True
    assert wrong["content"][0]["text"] == "n must be between 0 and 1000, not -1"
    assert missing == "invalid arguments for factorial:\nn: missing"
    assert got["messages"][0]["content"]["text"].startswith("Work out 3!")


# Explicit tools and resources that change


@every_client
async def test_notes_come_and_go_while_a_client_is_connected(connect: ByFile) -> None:
    """E-15, E-30, E-32, E-46: explicit tools, templates, and resources changed at run time."""
    async with connect(EXAMPLES / "notes.py") as client:
        await client.follow("notes://all/milk")
        before = await uris(client)
        wrote = await call(client, "write", title="milk", text="two", style={"colour": "green"})

        assert (before, wrote) == ([], "wrote milk")
        assert (await hears(client))["method"] == "notifications/resources/list_changed"
        assert await uris(client) == ["notes://all/milk"]
        assert await read(client, "notes://all/milk") == "two"
        assert await read(client, "notes://find/milk") == "two"
        await call(client, "write", title="milk", text="three", tags=["food"])
        heard = {(await hears(client))["method"] for _ in range(2)}
        assert heard == {
            "notifications/resources/list_changed",
            "notifications/resources/updated",
        }
        assert await read(client, "notes://all/milk") == "three"
        assert await call(client, "drop", title="milk") == "dropped milk"
        assert await uris(client) == []
        assert await read(client, "notes://find/milk") in (-32002, -32602)


@every_client
async def test_notes_can_be_locked(connect: ByFile) -> None:
    async with connect(EXAMPLES / "notes.py") as client:
        await client.follow()
        await call(client, "lock", locked=True)

        assert (await hears(client))["method"] == "notifications/tools/list_changed"
        assert await tools(client) == ["lock"]
        assert (await call(client, "write", title="a", text="b"))["code"] == -32602
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
        found = await client.ask("tools/call", name="find", arguments={"pattern": "*.md"})
        (folder / "new.txt").write_text("new")

        assert await tools(client) == ["read", "find"]
        assert found["structuredContent"] == {"paths": ["deep/c.md"]}
        assert await call(client, "read", path="deep/c.md") == "deep"
        assert await uris(client) == [
            "dir:///a%20b.txt",
            "dir:///bytes",
            "dir:///deep/c.md",
            "dir:///new.txt",
        ]
        assert await read(client, "dir:///a%20b.txt") == "spaced"
        assert await read(client, "dir:///deep/c.md") == "deep"
        assert await read(client, "dir:///bytes") is None  # a blob
        assert await read(client, "dir:///deep") in (-32002, -32602)


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
            called = await client.ask("tools/call", name="read", arguments={"path": path})
            by_uri = await read(client, "dir:///" + path.replace("\0", "%00"))
            escaped = await read(client, "dir:///" + "".join(f"%{ord(char):02x}" for char in path))

            assert called["isError"], path
            assert str(folder.parent) not in called["content"][0]["text"]
            assert by_uri in (-32002, -32602), path
            assert escaped in (-32002, -32602), path


@every_client
async def test_what_is_no_text_is_refused_in_words(connect: ByFile, folder: Path) -> None:
    async with connect(EXAMPLES / "files.py") as client:
        assert await call(client, "read", path="bytes") == "cannot read 'bytes': it is no text"
        assert await call(client, "read", path="none") == (
            "cannot read 'none': No such file or directory"
        )
        assert (await call(client, "remove", path="bytes"))["code"] == -32602
