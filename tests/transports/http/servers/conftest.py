"""Servers over HTTP, ended with the test or with the module that started them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import pytest
from tests.transports.http.servers.web import Site, as_script, by_command, write

Serve = Callable[..., Site]


@contextmanager
def sites(folder: Path) -> Iterator[Serve]:
    """Starts servers from their source, and ends them all."""
    numbers = count()
    with ExitStack() as stack:

        def start(
            source: str,
            *options: str,
            script: bool = False,
            awaited: bool = True,
            before: Sequence[str] = (),
        ) -> Site:
            file = write(folder, source, f"author{next(numbers)}.py")
            command = as_script(file) if script else by_command(file, *options)
            site = stack.enter_context(Site([*before, *command], cwd=folder))
            stack.callback(site.close_all)
            return site.is_served() if awaited else site

        yield start


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start a server for one test: by our command, or as a script that serves by itself."""
    with sites(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def serve_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start a server for all tests of a module."""
    with sites(tmp_path_factory.mktemp("served")) as start:
        yield start
