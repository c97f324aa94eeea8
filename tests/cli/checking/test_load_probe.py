"""What `toolhaft check` says of a target while it is loaded."""

from pathlib import Path

import pytest
from tests.cli.checking.checks import checked, said
from tests.cli.running import toolhaft, write_server


def test_what_is_printed_at_import_is_found(tmp_path: Path) -> None:
    report = checked(tmp_path, "print('hello')\nos.write(1, b'from below')")

    [(level, where, what)] = said(report, "prints")
    assert (level, where) == ("warning", "start")
    assert "author.py:9: 'hello'" in what


def test_what_is_printed_below_python_is_found_too(tmp_path: Path) -> None:
    report = checked(tmp_path, "os.write(1, b'from below')")

    assert "'from below'" in said(report, "prints")[0][2]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("os._exit(3)", "ended the process while it was loaded"),
        ("del server", "has no Server"),
    ],
    ids=["raises", "ends", "nothing"],
)
def test_a_target_that_cannot_be_loaded(tmp_path: Path, source: str, words: str) -> None:
    write_server(tmp_path, source)

    done = toolhaft("check", "author.py", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
