"""How the conversation of a command ends: by signals, by time, by a server that fails."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.cli.running import toolhaft, write_server
from tests.cli.servers import running

from toolhaft import __version__

PATIENCE = 20.0


def test_a_lifespan_that_fails_ends_the_command(tmp_path: Path) -> None:
    source = """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            raise OSError("no database")
            yield

        server = Server("tested", version="1.0.0", lifespan=lifespan)

        @server.tool
        def value() -> int:
            return 5
    """
    write_server(tmp_path, source)

    done = toolhaft("call", "author.py", "value", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert "OSError: no database" in done.stderr


SLOW = """
    @server.tool
    async def waits() -> None:
        os.write(2, b"begun\\n")
        try:
            await asyncio.sleep(60)
        finally:
            os.write(2, b"cancelled\\n")

    @server.tool
    async def holds_up() -> None:
        os.write(2, b"begun\\n")
        time.sleep(60)

    @server.tool
    def blocks(ctx: Context) -> None:
        os.write(2, b"begun\\n")
        while not ctx.cancelled:
            time.sleep(0.01)
        os.write(2, b"cancelled\\n")

    @server.tool
    async def never_lets_go() -> None:
        os.write(2, b"begun\\n")
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
"""


@pytest.mark.parametrize(
    ("tool", "told"),
    [("waits", "cancelled\n"), ("blocks", "cancelled\n"), ("holds_up", ""), ("never_lets_go", "")],
)
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
def test_a_signal_cancels_the_call(
    tmp_path: Path, tool: str, told: str, number: signal.Signals, status: int
) -> None:
    write_server(tmp_path, SLOW)

    with running("call", "author.py", tool, cwd=tmp_path) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        started = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)

    assert process.returncode == status
    assert (out, "Traceback" in err) == ("", False)
    assert err.startswith(told)
    assert time.monotonic() - started < 10


def test_a_second_signal_ends_the_process(tmp_path: Path) -> None:
    source = """
        server = Server("tested", version="1.0.0", limits=Limits(shutdown_seconds=600))

        @server.tool
        async def holds_up() -> None:
            os.write(2, b"begun\\n")
            while True:
                time.sleep(60)
    """
    write_server(tmp_path, source)

    with running("call", "author.py", "holds_up", cwd=tmp_path) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)

    assert process.returncode == 130


def test_a_signal_while_the_file_is_imported_ends_the_command(tmp_path: Path) -> None:
    write_server(tmp_path, 'os.write(2, b"importing\\n")\ntime.sleep(60)\n')

    with running("list", "author.py", cwd=tmp_path) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)

    assert (process.returncode, out, err) == (130, "", "")


@pytest.mark.parametrize("tool", ["waits", "blocks", "holds_up", "never_lets_go"])
def test_a_call_that_takes_too_long_is_cancelled(tmp_path: Path, tool: str) -> None:
    write_server(tmp_path, SLOW)

    done = toolhaft("call", "author.py", tool, "--timeout", "0.2", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert "toolhaft: no answer within 0.2 seconds; the request was cancelled\n" in done.stderr
    assert ("cancelled\n" in done.stderr.splitlines(keepends=True)) is (tool in ("waits", "blocks"))
    assert "Traceback" not in done.stderr


def test_nobody_who_reads_is_no_reason_for_a_traceback(tmp_path: Path) -> None:
    write_server(tmp_path, 'while not os.path.exists("closed"):\n    time.sleep(0.01)\n')

    with running("list", "author.py", cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        (tmp_path / "closed").touch()
        err = process.stderr.read()
        process.wait(PATIENCE)

    assert (process.returncode, err) == (141, "")


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_a_server_is_told_the_release_of_the_command(tmp_path: Path, revision: str) -> None:
    write_server(
        tmp_path,
        """
        @server.tool
        def release(ctx: Context) -> str:
            return f"{ctx.client.name} {ctx.client.version}"
        """,
    )

    done = toolhaft("call", "author.py", "release", "--revision", revision, cwd=tmp_path)

    assert (done.stderr, done.stdout) == ("", f"toolhaft {__version__}\n")
