"""Servers in processes, ended with the test that started them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.processes.process import Process, command_for, write_server
from tests.warm import OURS, warm

from toolhaft.testing import SyncClient

Serve = Callable[..., Process]
Served = Callable[..., SyncClient]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a server from its source, with its handshake done unless `opened=False`."""
    with ExitStack() as stack:

        def start(source: str, how: str = "run", *, opened: bool = True, **options: Any) -> Process:
            command = command_for(write_server(tmp_path, source), how)
            process = stack.enter_context(Process(command, cwd=tmp_path, **options))
            if opened:
                process.open()
            return process

        yield start


@pytest.fixture
def served(tmp_path: Path) -> Served:
    """A client of a server that is started from its source when the client is opened."""

    def make(source: str, how: str = "run", *, revision: str = "2025-11-25") -> SyncClient:
        _, *words = command_for(write_server(tmp_path, source), how)
        command = warm(OURS, *words)
        return SyncClient.stdio(command, cwd=tmp_path, revision=revision)

    return make
