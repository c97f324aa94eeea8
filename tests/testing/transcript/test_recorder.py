"""What was recorded can be replayed: as a test that passes until the server changes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.testing.offering import ERAS, REVISIONS, make

from toolhaft import Context, Server
from toolhaft.testing import BadTranscript, Client, Mismatch, SyncClient, record, replay, transcript

ROOT = Path(__file__).parents[3]


async def session(client: Client) -> None:
    """A bit of everything."""
    await client.call("words", text="é")
    await client.call_raw("fails")
    await client.list_tools()
    await client.read("notes://all")
    await client.prompt("greet", mood="sad")
    await client.raw("{")
    await client.call_raw("steps", on_progress=lambda *_: None)
    await asyncio.gather(client.call("nothing"), client.call("words", text="$5"))
    await client.call_raw("words", {"text": "<any>"})


@pytest.mark.parametrize("revision", [None, *REVISIONS])
async def test_a_session_can_be_replayed(revision: str | None, tmp_path: Path) -> None:
    path = tmp_path / "session.txt"
    async with record(Client(make(), revision), path, "A bit of everything.") as client:
        await session(client)

    assert path.read_text().startswith("# A bit of everything.\n")
    await replay(path, make())
    await replay(path, Client.asgi(make().asgi()))


@pytest.mark.parametrize("revision", ERAS)
async def test_a_session_with_questions_can_be_replayed(revision: str, tmp_path: Path) -> None:
    path = tmp_path / "session.txt"
    answers = {"First?": "a", "Second?": "b", "Sign in?": True}
    async with record(Client(make(), revision, answers=answers), path) as client:
        await client.call("twice")
        await client.call("visit")

    await replay(path, make())
    assert ("$state1" in path.read_text()) == (revision == "2026-07-28")


async def test_a_transcript_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "session.txt"
    options: Any = {"capabilities": {}, "info": {"name": "t", "version": "1"}}
    async with record(Client(make(), "2026-07-28", **options), path, "One call.") as client:
        await client.call_raw("words", {"text": "hi"}, on_progress=lambda *_: None)

    lines = path.read_text().splitlines()
    assert lines[:3] == [
        "# One call.",
        '@ envelope {"io.modelcontextprotocol/protocolVersion": "2026-07-28", '
        '"io.modelcontextprotocol/clientCapabilities": {}, '
        '"io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}}',
        '@ stamp {"io.modelcontextprotocol/serverInfo": {"name": "offering", "version": "1.2.3"}}',
    ]
    assert lines[-2:] == [
        '> {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "words", '
        '"arguments": {"text": "hi"}, "_meta": {"<envelope>": true, "progressToken": 2}}}',
        '< {"jsonrpc": "2.0", "id": 2, "result": {"resultType": "complete", "_meta": "<stamp>", '
        '"content": [{"type": "text", "text": "hi"}]}}',
    ]


@pytest.mark.parametrize("revision", ERAS)
async def test_a_server_that_has_changed_is_found_out(revision: str, tmp_path: Path) -> None:
    path = tmp_path / "session.txt"
    async with record(Client(make(), revision), path) as client:
        await client.list_tools()
    changed = make()
    changed.tools["add"].update(description="Subtract two numbers.")

    with pytest.raises(Mismatch, match=r"session\.txt:\d+\n(.*\n)*.*at result\.tools\[0\]"):
        await replay(path, changed)


@pytest.mark.parametrize("revision", ERAS)
async def test_what_is_made_up_each_time_is_no_change(revision: str, tmp_path: Path) -> None:
    server = Server("s")

    @server.tool
    def broken(ctx: Context) -> str:
        raise LookupError("secret")

    path = tmp_path / "session.txt"
    async with record(Client(server, revision), path) as client:
        assert (await client.call_raw("broken")).is_error

    assert "<contains:tool 'broken' failed: LookupError>" in path.read_text()
    await replay(path, server)


async def test_a_session_is_replayed_over_other_transports(tmp_path: Path) -> None:
    command = "toolhaft run examples/demo.py"
    for revision in ERAS:
        path = tmp_path / f"{revision}.txt"
        async with record(Client.stdio(command, cwd=ROOT, revision=revision), path) as client:
            await client.call("add", a=1, b=2)
            await client.list_prompts()

        await replay(path, Client.stdio(command, cwd=ROOT))


async def test_nothing_is_written_if_the_session_fails(tmp_path: Path) -> None:
    path = tmp_path / "session.txt"

    with pytest.raises(LookupError):
        async with record(Client(make()), path):
            raise LookupError

    assert not path.exists()


def test_the_wire_of_any_client_is_a_transcript() -> None:
    with SyncClient(make(), "2025-11-25") as client:
        client.ping()
        text = transcript(client.wire, "A ping.")

    assert text.endswith(
        '> {"jsonrpc": "2.0", "id": 2, "method": "ping"}\n'
        '< {"jsonrpc": "2.0", "id": 2, "result": {}}\n'
    )


async def test_a_transcript_may_do_something_to_the_server(tmp_path: Path) -> None:
    server = make()
    path = tmp_path / "changes.txt"
    path.write_text(
        "# Changes are told.\n@ revision 2025-11-25\n! remove add\n"
        '< {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}\n'
    )

    await replay(path, server, directives={"remove": server.remove_tool})
    with pytest.raises(BadTranscript, match="nobody knows how to 'remove'; known are leave"):
        await replay(path, make())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("> {", r"bad.txt:2: not JSON: Expecting"),
        ('> {}\n< {"a"', r"bad.txt:3: not JSON: Expecting"),
        ("@ can {\n> {}", r"bad.txt:2: not JSON: Expecting"),
        ("@ revision 2020\n> {}", r"bad.txt:2: no such revision: '2020'; there are .*handshake"),
        ('> {"a": "$state"}', r"bad.txt:2: nothing was captured as \$state"),
    ],
    ids=["sent", "expected", "option", "revision", "capture"],
)
async def test_what_cannot_be_read_is_told_by_its_line(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(f"# Bad.\n{text}\n")

    with pytest.raises(BadTranscript, match=words):
        await replay(path, make())
