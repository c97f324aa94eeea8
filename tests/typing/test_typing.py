"""mypy and pyright, both strict, accept what is right in users' code and find what is wrong."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
_MYPY_ERROR = re.compile(r"^[^:\n]+:(\d+): error: (.*)$", re.MULTILINE)

Problems = dict[int, str]


def run(*command: str) -> str:
    """What a checker prints. Its status only says whether there was something to print."""
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout


def mypy(path: Path) -> Problems:
    output = run("mypy", "--strict", "--no-error-summary", str(path.relative_to(ROOT)))
    found = {int(line): problem for line, problem in _MYPY_ERROR.findall(output)}
    assert found or not output.strip(), output
    return found


def pyright(path: Path) -> Problems:
    output = run("pyright", "--outputjson", "--pythonpath", sys.executable, str(path))
    report = json.loads(output)
    assert report["summary"]["filesAnalyzed"] == 1
    return {
        problem["range"]["start"]["line"] + 1: problem["message"]
        for problem in report["generalDiagnostics"]
        if problem["severity"] == "error"
    }


both = pytest.mark.parametrize("check", [mypy, pyright])


@pytest.mark.timeout(180)  # the first run of a checker reads the whole standard library
@both
def test_right_code_is_accepted(check: Callable[[Path], Problems]) -> None:
    assert check(FOLDER / "accepted.py") == {}


@pytest.mark.timeout(180)
@both
def test_each_mistake_is_found_and_nothing_else(check: Callable[[Path], Problems]) -> None:
    path = FOLDER / "rejected.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}

    problems = check(path)

    assert sorted(problems) == sorted(wrong), problems
