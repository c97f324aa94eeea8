"""Files are opened for writing where no link of a repository is followed."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
# Names that users give; configurations of clients; a lock in our own folder; /dev/null and
# descriptors that are open already.
MAY_OPEN = {
    "toolhaft_bridge/outputs.py",
    "toolhaft/cli/installing/open_folder.py",
    "toolhaft/cli/installing/files.py",
    "toolhaft/cli/installing/lock.py",
}
WRITERS = {"write_text", "write_bytes", "mkstemp", "NamedTemporaryFile", "copyfile", "copy2"}


def opened_to_write(text: str) -> Iterator[str]:
    """Calls that open a file for writing by its name."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        words = ", ".join(ast.unparse(each) for each in [*node.args, *node.keywords])
        by_name = "closefd" not in words and "devnull" not in words
        flags = any(flag in words for flag in ("O_WRONLY", "O_RDWR", "O_CREAT"))
        mode = any(f"'{each}" in words for each in ("w", "a", "x", "r+"))
        if called.rpartition(".")[2] in WRITERS or (
            by_name and ((called == "os.open" and flags) or (called == "open" and mode))
        ):
            yield f"{node.lineno}: {called}({words})"


def test_files_are_opened_for_writing_where_links_are_looked_at() -> None:
    found = [
        f"{name}:{each}"
        for path in sorted(SOURCE.rglob("*.py"))
        if (name := path.relative_to(SOURCE).as_posix()) not in MAY_OPEN
        for each in opened_to_write(path.read_text())
    ]

    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "path.write_text('x')",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "open(path, 'w')",
        "with open(path, mode='ab'): pass",
        "tempfile.mkstemp(dir=folder)",
    ],
)
def test_a_file_that_is_opened_for_writing_is_found(text: str) -> None:
    assert len(list(opened_to_write(text))) == 1


@pytest.mark.parametrize(
    "text", ["open(path, 'rb')", "os.open(folder, os.O_RDONLY)", "os.open(os.devnull, os.O_RDWR)"]
)
def test_what_writes_no_file_is_not(text: str) -> None:
    assert list(opened_to_write(text)) == []
