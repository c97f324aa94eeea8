"""What `toolhaft` gives to those who import it, and what that costs."""

import inspect
import json
import subprocess
import sys

import pytest

import toolhaft

FIRST_NAMES = {
    "Context",
    "InvalidParams",
    "Limits",
    "McpError",
    "NotFound",
    "Server",
    "ToolError",
}


def _modules_after(code: str) -> set[str]:
    """What is loaded in a fresh interpreter after this code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return set(json.loads(done.stdout))


def test_the_public_names_are_sorted_and_stand_once() -> None:
    assert list(toolhaft.__all__) == sorted(set(toolhaft.__all__))


@pytest.mark.parametrize("name", toolhaft.__all__)
def test_a_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(toolhaft, name)

    assert value.__doc__  # and not that of a base, as `inspect.getdoc` would give


@pytest.mark.parametrize("name", toolhaft.__all__)
def test_what_a_public_class_offers_is_documented(name: str) -> None:
    value = getattr(toolhaft, name)
    members = vars(value).items() if inspect.isclass(value) else ()

    silent = [
        member
        for member, found in members
        if not member.startswith("_")
        and (inspect.isfunction(found) or isinstance(found, property | classmethod | staticmethod))
        and not inspect.getdoc(found)
    ]

    assert silent == []


def test_a_star_import_gives_just_these_names() -> None:
    names: dict[str, object] = {}

    exec("from toolhaft import *", names)

    assert set(names) - {"__builtins__"} == set(toolhaft.__all__)


def test_the_first_names_of_the_face_are_public() -> None:
    assert set(toolhaft.__all__) >= FIRST_NAMES


def test_nothing_public_hides_behind_a_public_name() -> None:
    visible = {
        name
        for name, value in vars(toolhaft).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert visible == set(toolhaft.__all__)


@pytest.mark.parametrize(
    "code",
    [
        "import toolhaft",
        "from toolhaft import Server\nserver = Server('s')\n"
        "@server.tool\ndef add(a: int, b: int) -> int:\n    return a + b",
    ],
    ids=["import", "a server with a tool"],
)
def test_an_import_does_not_load_what_is_slow(code: str) -> None:
    slow = {"asyncio", "ssl", "http", "email", "importlib.metadata", "argparse", "subprocess"}

    assert _modules_after(code) & slow == set()


def test_an_import_prints_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import toolhaft"], capture_output=True, timeout=20
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
