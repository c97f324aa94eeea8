"""What `toolhaft` gives to those who import it, and what that costs."""

import ast
import importlib
import importlib.metadata
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import toolhaft
from toolhaft.protocol.revisions import REVISIONS

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


def test_the_version_and_the_revisions_can_be_asked_for() -> None:
    assert toolhaft.__version__ == importlib.metadata.version("toolhaft")
    assert tuple(REVISIONS) == toolhaft.REVISIONS
    assert sorted(toolhaft.REVISIONS, reverse=True) == list(toolhaft.REVISIONS)


def test_nothing_is_loaded_for_a_version_that_is_not_asked_for() -> None:
    assert "importlib.metadata" not in _modules_after("from toolhaft import Server")


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


def imported_by_examples() -> dict[str, set[str]]:
    """What the pages and examples take from modules of ours, by module."""
    root = Path(__file__).parents[1]
    found: dict[str, set[str]] = {}
    for path in (*root.glob("docs/examples/**/*.py"), *root.glob("examples/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolhaft"):
                names = {alias.name for alias in node.names}
                found.setdefault(node.module or "", set()).update(names)
    return found


IMPORTED = imported_by_examples()


def test_the_examples_use_more_than_one_module() -> None:
    assert {"toolhaft", "toolhaft.testing", "toolhaft.paths", "toolhaft.jsonrpc"} <= set(IMPORTED)


@pytest.mark.parametrize("module", sorted(IMPORTED))
def test_what_the_examples_import_is_public(module: str) -> None:
    assert set(importlib.import_module(module).__all__) >= IMPORTED[module]


@pytest.mark.parametrize("module", sorted({*IMPORTED, "toolhaft", "toolhaft.testing"}))
def test_what_is_public_in_a_module_is_there_and_documented(module: str) -> None:
    loaded = importlib.import_module(module)
    found = {name: getattr(loaded, name) for name in loaded.__all__}

    silent = [
        name
        for name, value in found.items()
        if (inspect.isclass(value) or inspect.isfunction(value)) and not value.__doc__
    ]

    assert sorted(loaded.__all__) == list(loaded.__all__)
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
        for name in dir(toolhaft)
        if not name.startswith("_") and not inspect.ismodule(getattr(toolhaft, name))
    }

    assert visible == set(toolhaft.__all__)


def test_type_checkers_see_the_same_names_at_the_same_places() -> None:
    stub = ast.parse(Path(toolhaft.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    seen = {
        alias.name: "." * node.level + (node.module or "")
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    [listed] = [node.value for node in stub.body if isinstance(node, ast.Assign)]

    assert seen == toolhaft._HOME_OF
    assert ast.literal_eval(listed) == toolhaft.__all__


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'toolhaft' has no attribute 'Sever'"):
        _ = toolhaft.Sever


def test_the_command_line_does_not_load_the_library_to_say_what_it_can() -> None:
    loaded = _modules_after("import toolhaft.cli")

    assert not loaded & {"msgspec", "toolhaft.server.server"}


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
