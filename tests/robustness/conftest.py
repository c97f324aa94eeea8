"""A server for each door: one for all cases of a module that leave it whole, or one for a case."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.robustness.doors import DOORS, TOOLS, Door

Opens = Callable[[str], Door]


@pytest.fixture(scope="module", params=DOORS)
def way(request: pytest.FixtureRequest) -> str:
    """The name of the door."""
    return str(request.param)


@pytest.fixture(scope="module")
def door(
    way: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Door]:
    """One server for all cases of a module, with the tools in its `SOURCE`."""
    source = getattr(request.module, "SOURCE", "")
    with DOORS[way](tmp_path_factory.mktemp("served"), TOOLS + source) as opened:
        yield opened
        assert opened.process._popen.poll() is None, "the server has ended"


@pytest.fixture
def opens(way: str, tmp_path: Path) -> Iterator[Opens]:
    """Opens a server for one case, with tools of its own."""
    with ExitStack() as stack:
        yield lambda source: stack.enter_context(DOORS[way](tmp_path, TOOLS + source))
