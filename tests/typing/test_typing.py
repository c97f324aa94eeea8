"""mypy and pyright, both strict, accept what is right in users' code and find what is wrong."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
FILES = [FOLDER / "accepted.py", FOLDER / "rejected.py"]
_MYPY_ERROR = re.compile(r"^([^:\n]+):(\d+): error: (.*)$", re.MULTILINE)

# By file and line.
Problems = dict[tuple[str, int], str]


def run(*command: str) -> str:
    """What a checker prints. Its status only says whether there was something to print."""
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout


@cache
def mypy() -> Problems:
    names = [str(path.relative_to(ROOT)) for path in FILES]
    output = run("mypy", "--strict", "--no-error-summary", *names)
    found = _MYPY_ERROR.findall(output)
    assert found, output
    return {(Path(file).name, int(line)): problem for file, line, problem in found}


@cache
def pyright() -> Problems:
    output = run("pyright", "--outputjson", "--pythonpath", sys.executable, *map(str, FILES))
    report = json.loads(output)
    assert report["summary"]["filesAnalyzed"] == len(FILES)
    return {
        (Path(problem["file"]).name, problem["range"]["start"]["line"] + 1): problem["message"]
        for problem in report["generalDiagnostics"]
        if problem["severity"] == "error"
    }


both = pytest.mark.parametrize("check", [mypy, pyright], ids=["mypy", "pyright"])


@pytest.mark.timeout(180)  # the first run of a checker reads the whole standard library
@both
def test_right_code_is_accepted(check: Callable[[], Problems]) -> None:
    assert {place: told for place, told in check().items() if place[0] == "accepted.py"} == {}


@pytest.mark.timeout(180)
@both
def test_each_mistake_is_found_and_nothing_else(check: Callable[[], Problems]) -> None:
    lines = (FOLDER / "rejected.py").read_text(encoding="utf-8").splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}

    problems = {line: told for (file, line), told in check().items() if file == "rejected.py"}

    assert sorted(problems) == sorted(wrong), problems
