"""A server in a process that the client starts."""

import os
from pathlib import Path

import pytest
from tests.client.connecting import script
from tests.testing.offering import REVISIONS

from toolhaft import Server
from toolhaft.testing import (
    BadAnswer,
    Client,
    NoAnswer,
    ServerGone,
    SyncClient,
    ToolFailed,
)

every_revision = pytest.mark.parametrize("revision", REVISIONS)


ROOT = Path(__file__).parents[2]


@every_revision
async def test_a_process_is_started_and_ended(revision: str) -> None:
    command = "toolhaft run examples/demo.py"
    async with Client.stdio(command, revision=revision, cwd=ROOT) as client:
        assert client.revision == revision
        assert client.server_info.name == "demo"
        assert await client.call_raw("add", {"a": 1, "b": 2})
        assert client.stderr == ""


async def test_a_process_has_a_folder_and_variables(tmp_path: Path) -> None:
    source = """
        import os
        from toolhaft import Server
        server = Server("s")

        @server.tool
        def where() -> list[str]:
            os.write(2, b"asked\\n")
            return [os.getcwd(), os.environ["COLOUR"], os.environ["HOME"]]

        @server.tool
        def pid() -> int:
            return os.getpid()

        server.run()
    """
    script(tmp_path, source)
    async with Client.stdio("python script.py", cwd=tmp_path, env={"COLOUR": "red"}) as client:
        assert await client.call("where") == [str(tmp_path), "red", os.environ["HOME"]]
        pid = await client.call("pid")
        os.kill(pid, 0)

    assert client.stderr == "asked\n"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_file_is_no_command(tmp_path: Path) -> None:
    with pytest.raises(ServerGone, match=r"shop\.py cannot be started: .*; try: toolhaft run shop"):
        async with Client.stdio("shop.py", cwd=tmp_path):
            pass


@pytest.mark.parametrize(("end", "status"), [("", 0), ("raise SystemExit(3)", 3)])
async def test_the_status_of_a_process_is_known_at_its_end(
    tmp_path: Path, end: str, status: int
) -> None:
    source = f"""
        from toolhaft import Server
        Server("s").run()
        {end}
    """
    async with Client.stdio(script(tmp_path, source)) as client:
        during = client.exit_status
    async with Client(Server("s")) as other:
        pass

    assert (during, client.exit_status, other.exit_status) == (None, status, None)


def test_a_plain_function_can_start_a_process() -> None:
    with SyncClient.stdio(["toolhaft", "run", "examples/demo.py"], cwd=ROOT) as client:
        assert client.revision == "2026-07-28"
        with pytest.raises(ToolFailed, match="b"):
            client.call("add", a=1)


async def test_a_process_that_ends_says_why(tmp_path: Path) -> None:
    command = script(tmp_path, "import sys; sys.exit('no licence')")

    with pytest.raises(ServerGone, match=r"exit status 1; on stderr:\nno licence$"):
        async with Client.stdio(command):
            pass


async def test_a_process_that_ends_in_a_call_says_so(tmp_path: Path) -> None:
    source = """
        import os
        from toolhaft import Server
        server = Server("s")

        @server.tool
        def die() -> None:
            os._exit(3)

        server.run()
    """
    async with Client.stdio(script(tmp_path, source)) as client:
        for _ in range(2):
            with pytest.raises(ServerGone, match="exit status 3, and said nothing on stderr"):
                await client.call("die")


async def test_a_process_that_keeps_silent_is_not_waited_for(tmp_path: Path) -> None:
    source = "import sys; print('thinking', file=sys.stderr, flush=True); sys.stdin.read()"

    with pytest.raises(
        NoAnswer, match=r"^initialize: no answer within 2 seconds; on stderr:\nthinking$"
    ):
        async with Client.stdio(script(tmp_path, source), revision="2025-11-25", timeout=2):
            pass


async def test_what_is_no_message_on_stdout_is_told(tmp_path: Path) -> None:
    source = "print('hello', flush=True); input()"

    with pytest.raises(BadAnswer, match="the server sent what is not JSON: b'hello'"):
        async with Client.stdio(script(tmp_path, source)):
            pass


async def test_what_comes_last_on_stdout_is_on_record_without_the_end_of_its_line(
    tmp_path: Path,
) -> None:
    file = tmp_path / "author.py"
    file.write_text(
        "import atexit, os\n"
        "from toolhaft import Server\n"
        "out = os.dup(1)\n"
        "atexit.register(os.write, out, b'half a line')\n"
        "Server('s').run()\n"
    )
    async with Client.stdio(["python", file], revision="2025-11-25") as client:
        await client.ping()

    assert client.wire.received[-1] == b"half a line"


async def test_a_command_that_is_not_there_is_told() -> None:
    with pytest.raises(ServerGone, match="no-such-command --now cannot be started"):
        async with Client.stdio("no-such-command --now"):
            pass
    with pytest.raises(ValueError, match="no command"):
        async with Client.stdio(""):
            pass
