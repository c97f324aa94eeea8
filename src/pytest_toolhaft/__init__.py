"""The pytest plugin of toolhaft: the fixture `mcp_client` and the marker `eras`.

A package of its own that imports `toolhaft` only in tests that use it, so that other test suites
do not pay for the import.
"""

import functools
import inspect
import os
from collections.abc import Callable, Generator
from typing import Any

import pytest

_NO_SERVER = (
    "mcp_client has no server: make a fixture `server` that returns one, or name one by "
    "--toolhaft TARGET"
)
# For fixtures that use the client: an async test opens it only after its fixtures have run.
_NOT_OPEN = (
    "mcp_client is not open here: it is open inside of the test only, on its loop; a fixture that "
    "needs a client makes its own: async with Client(server) as client"
)


# Same name as in `toolhaft.testing.contracts.contract`, which is not imported here because that is
# slow. An environment variable, so that worker processes inherit it.
_UPDATE_VARIABLE = "TOOLHAFT_UPDATE_CONTRACT"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--toolhaft TARGET` and `--update-contract`."""
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
    """Register the marker `eras`, and pass `--update-contract` on as an environment variable."""
    if config.getoption("--update-contract"):
        os.environ[_UPDATE_VARIABLE] = "1"
    config.addinivalue_line(
        "markers",
        "eras(*eras): the eras in which a test with the fixture mcp_client runs: 'handshake', "
        "'stateless', 'all' (every revision), or single revisions such as '2025-06-18'",
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the environment variable, which a later run in the same process must not inherit."""
    if config.getoption("--update-contract"):
        os.environ.pop(_UPDATE_VARIABLE, None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a test with the eras of its marker."""
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
    """A client of the server under test: `Client` in async tests, `SyncClient` in others.

    `--toolhaft TARGET` names the server. Without it, the fixture `server` returns it: a `Server`, a
    target, or a `Client` that is not open yet.
    """
    from toolhaft.testing import SyncClient  # noqa: PLC0415

    client = _client(request)
    client.closed_because = _NOT_OPEN
    function = request.node.obj
    handle: Any = getattr(function, "hypothesis", None)
    if inspect.iscoroutinefunction(getattr(handle, "inner_test", None)):
        # Hypothesis wraps the async test in a plain function and runs it once per example.
        inner, handle.inner_test = handle.inner_test, _with_open_client(client, handle.inner_test)
        yield client
        handle.inner_test = inner
        return
    if not inspect.iscoroutinefunction(function):
        with SyncClient.of(client) as plain:
            yield plain
        return
    # Wrapping the test opens the client on its event loop and in its task, with any async plugin.
    request.node.obj = _with_open_client(client, function)
    yield client
    request.node.obj = function


def _with_open_client(client: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an async test so that the client is open while it runs."""

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
            pytest.fail(_NO_SERVER, pytrace=False)
    return client_of(target, getattr(request, "param", None))
