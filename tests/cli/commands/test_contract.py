"""`toolhaft contract`, as a process."""

import json
from pathlib import Path

import pytest
from tests.cli.running import toolhaft, write_server

ONE = '@server.tool\ndef one(a: int) -> int:\n    """One."""\n    return a'


def test_a_contract_is_written_compared_and_written_anew(tmp_path: Path) -> None:
    def contract(*options: str) -> tuple[int, str]:
        done = toolhaft("contract", "author.py", "s.lock", *options, cwd=tmp_path)
        return done.returncode, done.stdout

    write_server(tmp_path, ONE)
    assert contract() == (0, "wrote s.lock\n")
    assert contract() == (0, "s.lock: nothing has changed\n")
    assert contract("--check") == (0, "s.lock: nothing has changed\n")

    write_server(tmp_path, ONE.replace("a: int", "a: int, b: int = 1"))
    wider = "s.lock: 1 change, none of them break clients\n\nbreaks nobody:\n"
    assert contract() == (0, f"{wider}  tool one, argument b: is new\n")
    assert contract("--check")[0] == 1

    write_server(tmp_path, ONE.replace("a: int", "a: int, b: int"))
    status, text = contract("--json")
    assert status == 1
    assert json.loads(text) == [
        {"where": "tool one, argument b", "words": "is new, and required", "breaks": True}
    ]
    assert contract("--update") == (0, "wrote s.lock\n")
    assert contract() == (0, "s.lock: nothing has changed\n")


def test_a_contract_that_is_not_there_or_none(tmp_path: Path) -> None:
    write_server(tmp_path, ONE)
    missing = toolhaft("contract", "author.py", "s.lock", "--check", cwd=tmp_path)
    (tmp_path / "s.lock").write_text("{}")
    none = toolhaft("contract", "author.py", "s.lock", cwd=tmp_path)

    assert (missing.returncode, none.returncode) == (2, 2)
    assert "there is no file 's.lock'; write it with --update" in missing.stderr
    assert "s.lock: expected a contract" in none.stderr


@pytest.mark.parametrize("ci", ["1", "true"])
def test_a_pipeline_writes_no_contract_unless_told_to(tmp_path: Path, ci: str) -> None:
    write_server(tmp_path, ONE)
    typo = toolhaft("contract", "author.py", "s.lock", cwd=tmp_path, CI=ci)
    written = (tmp_path / "s.lock").exists()
    told = toolhaft("contract", "author.py", "s.lock", "--update", cwd=tmp_path, CI=ci)
    there = toolhaft("contract", "author.py", "s.lock", cwd=tmp_path, CI=ci)

    assert (typo.returncode, written) == (2, False)
    assert "there is no file 's.lock', and none is written where CI is set" in typo.stderr
    assert (told.returncode, told.stdout) == (0, "wrote s.lock\n")
    assert (there.returncode, there.stdout) == (0, "s.lock: nothing has changed\n")


def test_a_contract_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    write_server(tmp_path, ONE)
    done = toolhaft("contract", "author.py", "nope/s.lock", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == (
        "toolhaft: cannot write 'nope/s.lock': there is no folder 'nope'; make it first\n"
    )
