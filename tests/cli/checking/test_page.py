"""The sessions and examples on docs/check.md and docs/contracts.md are real."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolhaft.cli.checking import client_rules

ROOT = Path(__file__).parents[3]
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "example"), [("check.md", "rough.py"), ("contracts.md", "notes.py")]
)
def test_each_session_is_real(name: str, example: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "docs/examples" / example, tmp_path)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "toolhaft"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolhaft "$@"\n')
    command.chmod(0o755)
    shown = "".join(_CONSOLE.findall(page(name)))
    real = ""
    lines = [line[2:] for line in shown.splitlines() if line.startswith("$ ")]

    for line in lines:
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=tmp_path,
            env={**os.environ, "CI": "", "PATH": f"{command.parent}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=50,
            check=False,
        )
        real += f"$ {line}\n{done.stdout}"

    assert lines
    assert real == shown


def test_the_test_on_the_page_passes(tmp_path: Path) -> None:
    for example in ("notes.py", "tests/test_notes.py"):
        shutil.copy(ROOT / "docs/examples" / example, tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\npythonpath = .\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    environment = {name: value for name, value in os.environ.items() if name != "CI"}

    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=50
    )

    assert "2 passed" in done.stdout, done.stdout
    assert (tmp_path / "notes.lock").exists()


def test_each_rule_is_on_the_page() -> None:
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "src/toolhaft/cli").rglob("*.py")
        if path.parent.name == "checking" or path.name == "check.py"
    )
    calls = re.findall(r'Finding\(\s*(?:"\w+"|\w+\.level),\s*f?"([\w{}-]+)"', source)
    rules = {rule.replace("{noun}", noun) for rule in calls for noun in ("tool", "prompt")}
    schemas = {
        name
        for name, each in vars(client_rules).items()
        if isinstance(each, client_rules.SchemaRule)
    }
    rules |= {f"schema-{name.lower().replace('_', '-')}" for name in schemas}
    rows = re.findall(r"^\| (`.*?) \|", page("check.md").split("## Levels")[1], re.MULTILINE)
    listed = set(re.findall(r"`([a-z-]+)`", " ".join(rows)))

    assert len(rules) > 30
    assert rules == listed
