"""The page on testing: what it shows are tests, and they pass."""

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from toolhaft import testing
from toolhaft.testing import Client, SyncClient
from toolhaft.testing.client_options import ClientOptions

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs/examples/testing"
# What tests have no use for.
INSIDE = {"closed_because", "speaking", "talk", "transport"}
PAGE = (ROOT / "docs/testing.md").read_text(encoding="utf-8")


def test_each_example_is_on_the_page() -> None:
    shown = set(re.findall(r"^<!-- docs/examples/testing/(\S+) -->$", PAGE, re.MULTILINE))

    assert shown == {path.name for path in EXAMPLES.glob("*.py")}


def test_each_example_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    plugins = ["-p", "pytest_toolhaft", "-p", "pytest_asyncio.plugin", "-p", "no:cacheprovider"]
    [shown] = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    said = tomllib.loads(shown)["tool"]["pytest"]["ini_options"]
    settings = [word for name in said for word in ("-o", f"{name}={said[name]}")]

    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-W", "error", "-c", "/dev/null"),
            *plugins,
            *settings,
            *("--rootdir", str(EXAMPLES), str(EXAMPLES)),
        ],
        capture_output=True,
        encoding="utf-8",
        timeout=55,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^20 passed in", done.stdout, re.MULTILINE), done.stdout


def test_the_page_names_everything_that_a_client_can_do() -> None:
    public = {name for name in vars(Client) if not name.startswith("_")}
    ways = {"stdio", "http", "asgi", "attached"}
    elsewhere = {"answer", "requests", *ways, *INSIDE}

    missing = [name for name in public - elsewhere if f"`{name}" not in PAGE]
    options = [name for name in ClientOptions.__annotations__ if f"`{name}`" not in PAGE]

    assert missing == []
    assert [
        way for way in ways if f"`Client.{way}(" not in PAGE and f" Client.{way}(" not in PAGE
    ] == []
    assert options == []


def test_a_plain_client_can_do_what_the_other_can() -> None:
    public = {name for name in vars(Client) if not name.startswith("_")}

    assert public - INSIDE - set(dir(SyncClient)) == set()


@pytest.mark.parametrize("name", testing.__all__)
def test_what_the_kit_offers_is_documented(name: str) -> None:
    value = getattr(testing, name)

    assert value.__doc__
    members = vars(value).items() if inspect.isclass(value) else ()
    silent = [
        member
        for member, found in members
        if not member.startswith("_")
        and (inspect.isfunction(found) or isinstance(found, property | classmethod))
        and not inspect.getdoc(found)
    ]
    assert silent == []


def test_the_names_of_the_kit_are_sorted() -> None:
    assert list(testing.__all__) == sorted(set(testing.__all__))
