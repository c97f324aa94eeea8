"""What was recorded is replayed, until the server changes."""

import asyncio
from pathlib import Path

import pytest
from tests.testing.offering import ERAS, REVISIONS, make

from toolhaft import Context, Server
from toolhaft.testing import Client, Mismatch, record, replay

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
