"""Programs with a server attached, bridges to them, and a directory for their sockets."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.attaching.living import BRIDGE, PROGRAM, Wire
from tests.processes.process import Process

from toolhaft.testing import SyncClient

Start = Callable[..., Process]
Dial = Callable[..., Wire]
Reach = Callable[..., SyncClient]
Bridged = Callable[..., SyncClient]


@pytest.fixture(autouse=True)
def places(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The user's runtime directory, for this test alone. Paths of sockets have to be short."""
    tmp_path_factory.getbasetemp()  # or it would be made in there, and go with this test
    folder = Path(tempfile.mkdtemp(prefix="th-", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.delenv("TOOLHAFT_LOG", raising=False)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(params=["handed", "copied"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How bytes come from a client to its process: a bridge that keeps a record has to copy."""
    chosen: str = request.param
    if chosen == "copied":
        monkeypatch.setenv("TOOLHAFT_LOG", os.devnull)
    return chosen


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Start]:
    """Start a program from its source. Unless it says otherwise, it is attached and asleep."""
    with ExitStack() as stack:

        def start(
            source: str = "", *, attached: str | None = "attached", **options: Any
        ) -> Process:
            file = tmp_path / "program.py"
            file.write_text(PROGRAM + dedent(source))
            command = [sys.executable, "-W", "error", str(file)]
            process = stack.enter_context(Process(command, cwd=tmp_path, **options))
            if attached is not None:
                process.hears(attached)
            return process

        yield start


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Start]:
    """Start a bridge, with the handshake done unless `opened=False`."""
    with ExitStack() as stack:

        def start(*words: str, opened: bool = True, **options: Any) -> Process:
            command = [sys.executable, "-c", BRIDGE, "attach", *words]
            process = stack.enter_context(Process(command, cwd=tmp_path, **options))
            if opened:
                process.open()
            return process

        yield start


@pytest.fixture
def bridged(tmp_path: Path) -> Bridged:
    """A client behind a bridge of its own, not open yet: one that shakes hands."""

    def make(*words: str, revision: str = "2025-11-25", **options: Any) -> SyncClient:
        command = [sys.executable, "-c", BRIDGE, "attach", *words]
        return SyncClient.stdio(command, cwd=tmp_path, revision=revision, **options)

    return make


@pytest.fixture
def dial() -> Iterator[Dial]:
    """Connect to a socket as a bridge does, or without its first line."""
    with ExitStack() as stack:

        def connect(path: str, first: bytes | None = None) -> Wire:
            return stack.enter_context(Wire(path, first))

        yield connect


@pytest.fixture
def reach() -> Iterator[Reach]:
    """A client of an attached process, by its name or its socket: one that shakes hands."""
    with ExitStack() as stack:

        def connect(process: str, revision: str = "2025-11-25", **options: Any) -> SyncClient:
            client = SyncClient.attached(process, revision=revision, **options)
            return stack.enter_context(client)

        yield connect
