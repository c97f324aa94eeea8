"""The pytest plugin of toolhaft: the fixture `mcp_client` and the marker `eras`.

It stands beside the package and loads it only for tests that use it, so that it costs other suites
nothing.
"""

import functools
import inspect
import os
from collections.abc import Callable, Generator
from typing import Any

import pytest

_NOTHING = (
    "mcp_client has no server: make a fixture `server` that returns one, or name one by "
    "--toolhaft TARGET"
)
# For fixtures that use the client: in async tests it is not open yet when they run.
_LATER = (
    "mcp_client is not open here: it is open inside of the test only, on its loop; a fixture that "
    "needs a client makes its own: async with Client(server) as client"
)


# As in `toolhaft.testing.contracts.contract`, which is not imported here because it is slow. An
# environment variable, so that worker processes inherit it.
_UPDATE = "TOOLHAFT_UPDATE_CONTRACT"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--toolhaft TARGET` and `--update-contract`."""
    group = parser.getgroup("toolhaft")
    group.addoption(
        "--update-contract",
        action="store_true",
        default=False,
        help="write the contracts of servers as they are now",
    )
    group.addoption(
        "--toolhaft",
        metavar="TARGET",
        help="the server that the fixture mcp_client talks to, instead of the fixture `server`: a "
        "file or a module as for `toolhaft run`, a command in quotes, or a URL",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker is known, and whether contracts are written anew."""
    if config.getoption("--update-contract"):
        os.environ[_UPDATE] = "1"
    config.addinivalue_line(
        "markers",
        "eras(*eras): the eras in which a test with the fixture mcp_client runs: 'handshake', "
        "'stateless', 'all' (every revision), or single revisions such as '2025-06-18'",
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """A later run in the same process decides for itself."""
    if config.getoption("--update-contract"):
        os.environ.pop(_UPDATE, None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test runs once for each era that it is marked with."""
    marker = metafunc.definition.get_closest_marker("eras")
    if marker is None or "mcp_client" not in metafunc.fixturenames:
        return
    from toolhaft.testing.pytest_eras import BadEra, revisions  # noqa: PLC0415

    try:
        found = revisions(marker.args)
    except BadEra as error:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {error}") from None
    metafunc.parametrize("mcp_client", found.values(), indirect=True, ids=found.keys())


@pytest.fixture
def mcp_client(request: pytest.FixtureRequest) -> Generator[Any]:
    """A client of the server under test: a `Client` for async tests, a `SyncClient` for plain ones.

    The server is what `--toolhaft TARGET` names, else what the fixture `server` returns: a
    `Server`, a target, or a `Client` that is not open yet.
    """
    from toolhaft.testing import SyncClient  # noqa: PLC0415

    client = _client(request)
    client.closed_because = _LATER
    function = request.node.obj
    drawn: Any = getattr(function, "hypothesis", None)
    if inspect.iscoroutinefunction(getattr(drawn, "inner_test", None)):
        # A plain function around an async one, which is run once for each example.
        inner, drawn.inner_test = drawn.inner_test, _inside(client, drawn.inner_test)
        yield client
        drawn.inner_test = inner
        return
    if not inspect.iscoroutinefunction(function):
        with SyncClient.of(client) as plain:
            yield plain
        return
    # Whichever plugin runs the test: the client lives on its loop, and in its task.
    request.node.obj = _inside(client, function)
    yield client
    request.node.obj = function


def _inside(client: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> None:
        async with client:
            await function(*args, **kwargs)

    return run


def _client(request: pytest.FixtureRequest) -> Any:
    from toolhaft.testing.pytest_eras import client_of  # noqa: PLC0415

    target: Any = request.config.getoption("--toolhaft")
    if target is None:
        try:
            target = request.getfixturevalue("server")
        except pytest.FixtureLookupError as error:
            if error.argname != "server":
                raise
            pytest.fail(_NOTHING, pytrace=False)
    return client_of(target, getattr(request, "param", None))
