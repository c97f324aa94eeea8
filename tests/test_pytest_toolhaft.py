"""The pytest plugin: in the three ways to run async tests, and in none. Rows: E-65."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.warm import warm

pytest_plugins = ["pytester"]

SERVER = """
    import pytest
    from toolhaft import Accepted, Context, Server
    from toolhaft.testing import Client, SyncClient

    @pytest.fixture
    def server():
        server = Server("tested", version="1.0.0")

        @server.tool
        def add(a: int, b: int) -> int:
            return a + b

        @server.tool
        def revision(ctx: Context) -> str:
            return ctx.client.revision

        @server.tool
        async def order(ctx: Context) -> str:
            size = await ctx.elicit("Which size?", int)
            return f"size {size.value}" if isinstance(size, Accepted) else "nothing"

        return server
"""
PLAIN = """
    import pytest

    def test_plain(mcp_client):
        assert type(mcp_client).__name__ == "SyncClient"
        assert mcp_client.call("add", a=1, b=2) == 3

    @pytest.mark.eras("handshake", "stateless")
    def test_in_both_eras(mcp_client):
        assert mcp_client.call("revision") == mcp_client.revision

    class TestInAClass:
        @pytest.mark.eras("2025-06-18")
        def test_in_one_revision(self, mcp_client):
            assert mcp_client.revision == "2025-06-18"
"""
ASYNC = """
    import asyncio
    import pytest
    {marks}

    {mark}
    async def test_async(mcp_client):
        assert type(mcp_client).__name__ == "Client"
        assert await mcp_client.call("add", a=1, b=2) == 3

    {mark}
    @pytest.mark.eras("handshake", "stateless")
    async def test_in_both_eras(mcp_client):
        assert await mcp_client.call("revision") == mcp_client.revision
        mcp_client.answer({{"Which size?": 5}})
        assert await mcp_client.call("order") == "size 5"

    {mark}
    @pytest.mark.eras("all")
    @pytest.mark.parametrize("b", [2, 3])
    async def test_beside_other_parameters(mcp_client, b):
        assert int(await mcp_client.call("add", a=1, b=b)) == 1 + b

    class TestInAClass:
        {mark}
        async def test_in_a_class(self, mcp_client):
            assert await mcp_client.call("add", a=1, b=2) == 3
"""
# How async tests are run: the options of pytest, and what stands over each test.
ASYNCIO = ["-p", "pytest_asyncio.plugin", "-o", "asyncio_default_fixture_loop_scope=function"]
SET_UPS = {
    "pytest-asyncio, auto": ([*ASYNCIO, "-o", "asyncio_mode=auto"], ""),
    "pytest-asyncio, strict": ([*ASYNCIO, "-o", "asyncio_mode=strict"], "@pytest.mark.asyncio"),
    "anyio": (["-p", "anyio.pytest_plugin"], "@pytest.mark.anyio"),
}
PLUGIN = ["-p", "no:cacheprovider", "-p", "pytest_toolhaft"]
# Not the plugin: pytest has to be the first to import it.
PACKAGES = "_pytest.config.argparsing _pytest.assertion.rewrite _pytest.terminal toolhaft.testing"
BACKEND = """
    @pytest.fixture
    def anyio_backend():
        return "asyncio"
"""


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the tests in a process of its own, with the plugins that were asked for and no others."""
    # Neither the plugins of this environment nor its settings.
    pytester.makeini("[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n")
    return pytester.run(*warm(PACKAGES, "-m", "pytest"), *PLUGIN, *options, timeout=100)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("CI", raising=False)  # where no contract is written


@pytest.mark.parametrize("how", SET_UPS)
def test_async_tests_have_a_client_on_their_own_loop(pytester: pytest.Pytester, how: str) -> None:
    options, mark = SET_UPS[how]
    pytester.makeconftest(SERVER + (BACKEND if how == "anyio" else ""))
    pytester.makepyfile(
        test_async=ASYNC.format(mark=mark, marks=""),
        test_plain=PLAIN,
    )

    result = run(pytester, *options, "-v")

    result.assert_outcomes(passed=18)
    result.stdout.fnmatch_lines_random(
        [
            "*test_in_both_eras[[]handshake[]] PASSED*",
            "*test_in_both_eras[[]stateless[]] PASSED*",
            "*test_in_one_revision[[]2025-06-18[]] PASSED*",
            "*test_beside_other_parameters[[]2024-11-05-2[]] PASSED*",
        ]
    )


@pytest.mark.parametrize("how", SET_UPS)
def test_async_tests_may_draw_examples(pytester: pytest.Pytester, how: str) -> None:
    options, mark = SET_UPS[how]
    pytester.makeconftest(SERVER + (BACKEND if how == "anyio" else ""))
    pytester.makepyfile(
        f"""
        import pytest
        from hypothesis import HealthCheck, given, settings, strategies as st

        fixtures = [HealthCheck.function_scoped_fixture]

        {mark}
        @settings(max_examples=3, suppress_health_check=fixtures, deadline=None, database=None)
        @given(a=st.integers(0, 5))
        async def test_async(mcp_client, a):
            assert await mcp_client.call("add", a=a, b=1) == a + 1

        @settings(max_examples=3, suppress_health_check=fixtures, deadline=None, database=None)
        @given(a=st.integers(0, 5))
        def test_plain(mcp_client, a):
            assert mcp_client.call("add", a=a, b=1) == a + 1
        """
    )

    run(pytester, *options).assert_outcomes(passed=2)


def test_plain_tests_need_no_other_plugin(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(SERVER)
    pytester.makepyfile(PLAIN)

    run(pytester).assert_outcomes(passed=4)


def test_a_test_that_fails_fails_and_closes_its_client(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(SERVER)
    pytester.makepyfile(
        """
        import pytest

        kept = []

        def test_plain(mcp_client):
            mcp_client.call("add", a=1)

        async def test_async(mcp_client):
            kept.append(mcp_client)
            assert await mcp_client.call("add", a=1, b=2) == 4

        async def test_unused_answers(mcp_client):
            mcp_client.answer({"Which colour?": 1})

        async def test_it_was_closed():
            with pytest.raises(RuntimeError, match="not open"):
                await kept[0].ping()
        """
    )

    result = run(pytester, *SET_UPS["pytest-asyncio, auto"][0])

    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["*ToolFailed: add: *"])
    result.stdout.fnmatch_lines(["*UnusedAnswers: nobody has asked for the answers to 'Which*"])


@pytest.mark.parametrize("target", ["shop.py", "python shop.py", "my shop.py:server"])
def test_a_server_can_be_named(pytester: pytest.Pytester, target: str) -> None:
    pytester.makepyfile(
        shop="""
        from toolhaft import Context, Server
        server = Server("shop")

        @server.tool
        def add(a: int, b: int) -> int:
            return a + b

        @server.tool
        def revision(ctx: Context) -> str:
            return ctx.client.revision

        if __name__ == "__main__":
            server.run()
        """,
        test_plain=PLAIN,
    )
    shutil.copy(pytester.path / "shop.py", pytester.path / "my shop.py")

    run(pytester, "--toolhaft", target).assert_outcomes(passed=4)


def test_a_server_that_is_not_there_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_plain=PLAIN)

    gone = run(pytester, "--toolhaft", "http://127.0.0.1:9/mcp")

    gone.assert_outcomes(errors=4)
    gone.stdout.fnmatch_lines(["*ServerGone: nothing listens at http://127.0.0.1:9/mcp*"])


def test_a_server_may_be_a_target_or_a_client(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        SERVER.replace("def server():", "def made():")
        + """
    @pytest.fixture
    def server(made):
        return Client(made, answers={"Which size?": 5})
"""
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.eras("handshake", "stateless")
        def test_plain(mcp_client):
            assert mcp_client.call("order") == "size 5"

        def test_negotiated(mcp_client):
            assert mcp_client.call("order") == "size 5"
        """
    )

    run(pytester).assert_outcomes(passed=3)


def test_without_a_server_the_test_says_what_to_do(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_plain(mcp_client): pass")

    result = run(pytester)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["mcp_client has no server: make a fixture `server` that *"])


def test_an_async_fixture_is_told_to_make_its_own_client(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        SERVER
        + """
    @pytest.fixture
    async def filled(mcp_client):
        return await mcp_client.call("add", a=1, b=2)
"""
    )
    pytester.makepyfile("async def test_it(mcp_client, filled): pass")

    result = run(pytester, *SET_UPS["pytest-asyncio, auto"][0])

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*mcp_client is not open here: * a fixture that needs a client makes its own: async with*"]
    )


def test_what_is_wrong_with_the_own_fixture_is_shown(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def server(nonesuch):
            return None
        """
    )
    pytester.makepyfile("def test_plain(mcp_client): pass")

    result = run(pytester)

    result.stdout.fnmatch_lines(["*fixture 'nonesuch' not found*"])


@pytest.mark.parametrize(
    ("eras", "told"), [("'modern'", "there is no era 'modern'; there are handshake"), ("", "none")]
)
def test_an_unknown_era_is_refused(pytester: pytest.Pytester, eras: str, told: str) -> None:
    pytester.makeconftest(SERVER)
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.eras({eras})
        def test_plain(mcp_client): pass
        """
    )

    result = run(pytester)

    assert result.ret != 0
    assert told in result.stdout.str() + result.stderr.str()


def test_the_option_of_pytest_writes_the_file(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from toolhaft import Server
        from toolhaft.testing import assert_contract

        def test_contract():
            server = Server("s")
            server.add_tool(lambda: None, name=NAME)
            assert_contract(server, "s.lock")

        NAME = "one"
        """
    )
    file = next(pytester.path.glob("test_*.py"))
    run(pytester).assert_outcomes(passed=1)
    file.write_text(file.read_text().replace('"one"', '"another"'))

    failed = run(pytester)
    failed.assert_outcomes(failed=1)
    failed.stdout.fnmatch_lines(["*tool one: is gone*"])
    run(pytester, "--update-contract").assert_outcomes(passed=1)
    run(pytester).assert_outcomes(passed=1)


def test_other_suites_do_not_load_the_package(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            assert "pytest_toolhaft" in sys.modules
            assert not [name for name in sys.modules if name.split(".")[0] == "toolhaft"]
        """
    )

    pytester.runpytest_subprocess(*PLUGIN, timeout=100).assert_outcomes(passed=1)


def test_the_plugin_is_found_by_pytest() -> None:
    project = Path(__file__).parents[1] / "pyproject.toml"
    entry = tomllib.loads(project.read_text())["project"]["entry-points"]["pytest11"]

    assert entry == {"pytest_toolhaft": "pytest_toolhaft"}
    done = subprocess.run(
        [sys.executable, "-c", "import pytest_toolhaft as p; print(p.mcp_client.__doc__)"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.startswith("A client of the server under test")
