"""What can be counted in the tree: lines, modules, packages, tests. Nothing is measured here."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from tests import test_architecture as architecture

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
# A test that runs once for each of many values is many cases.
SETS = {
    "robustness-cases": "tests/robustness",
    "conformance-cases": "tests/conformance",
    "transcript-cases": "tests/transcripts",
    "client-cases": "tests/clients tests/transports/http/servers/test_real_clients.py",
}


def lines_by_layer() -> dict[str, int]:
    """Lines of code, without blank lines, comments and docstrings."""
    found: Counter[str] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        package, *rest = path.relative_to(SOURCE).parts
        top = rest[0].removesuffix(".py")
        if package == "toolhaft":
            layer = top if top in architecture.EDGES else architecture.layer_of(top)
        else:
            layer = {"toolhaft_bridge": "bridge", "pytest_toolhaft": "pytest plugin"}[package]
        found[layer] += architecture.code_lines(path.read_text(encoding="utf-8"))
    return dict(found)


def modules() -> list[Path]:
    """Every module of the packages."""
    return sorted(SOURCE.rglob("*.py"))


def test_functions() -> int:
    """How many tests are written, whatever they are run with."""
    trees = [
        ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").rglob("test_*.py")
    ]
    return sum(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        for tree in trees
        for node in ast.walk(tree)
    )


def dependencies() -> list[str]:
    """What an installation needs, and what that needs in turn."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: list[str] = []
    wanted = list(project["dependencies"])
    while wanted:
        requirement = wanted.pop()
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        if name not in found and "extra ==" not in requirement:
            found.append(name)
            wanted += distribution(name).requires or ()
    return sorted(found)


@cache
def counts() -> dict[str, str]:
    """All that is counted at once."""
    layers = lines_by_layer()
    told = {f"lines-{layer.replace(' ', '-')}": f"{size:,}" for layer, size in layers.items()}
    paths = modules()
    return {
        **told,
        "lines": f"{sum(layers.values()):,}",
        "modules": f"{len(paths):,}",
        "longest-module": f"{max(path.read_text().count(chr(10)) for path in paths):,}",
        "dependencies": ", ".join(dependencies()),
        "test-functions": f"{test_functions():,}",
        "transcripts": f"{len(list((ROOT / 'tests/transcripts').glob('*.txt'))):,}",
    }


def cases(folders: str = "") -> int:
    """How many tests pytest finds."""
    pytest = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly"]
    done = subprocess.run(
        [*pytest, *folders.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    found = re.search(r"^(\d+) tests collected", done.stdout, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"pytest found no tests in {folders or 'tests'}:\n{done.stdout[-2000:]}")
    return int(found[1])


def collected() -> dict[str, str]:
    """What pytest finds: all of it, and what has a row of its own. This takes a while."""
    found = {name: f"{cases(folders):,}" for name, folders in SETS.items()}
    return {**found, "cases": f"{cases():,}"}
