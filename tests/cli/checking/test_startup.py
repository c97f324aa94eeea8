"""How a target starts, as `toolhaft check` sees it."""

import time
from pathlib import Path

from tests.cli.checking.checks import checked, said
from tests.cli.running import toolhaft, write_server


def test_slow_imports_are_named(tmp_path: Path) -> None:
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "__init__.py").write_text("from . import slower")
    (tmp_path / "slow" / "slower.py").write_text("import time\ntime.sleep(1)")

    report = checked(tmp_path, "import slow")

    assert "the slowest imports: slow 1." in said(report, "start")[0][2]


def test_a_lifespan_that_fails_is_found(tmp_path: Path) -> None:
    report = checked(
        tmp_path,
        """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            raise OSError("no database")
            yield

        server = Server("tested", version="1.0.0", lifespan=lifespan)

        @server.tool
        def add(a: int) -> int:
            return a
        """,
    )

    [(level, where, what)] = said(report, "lifespan")
    assert (level, where) == ("error", "server")
    assert what == "no call is answered: the lifespan failed: OSError('no database')"


def test_a_target_that_takes_for_ever(tmp_path: Path) -> None:
    write_server(tmp_path, "time.sleep(100)")
    begun = time.monotonic()

    done = toolhaft("check", "author.py", "--timeout", "3", cwd=tmp_path)

    assert done.returncode == 2
    assert "could not be loaded within 3 seconds" in done.stderr
    assert time.monotonic() - begun < 90  # and not for ever
