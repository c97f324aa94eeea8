"""The sessions on the pages are real: each command is run, and answers what is shown."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Which examples a page is about, and under which names.
PAGES = {
    "command-line.md": {"notes.py": "notes.py", "parameters.py": "parameters.py"},
    "tutorial.md": {"tutorial.py": "diary.py"},
}
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sessions(page: str) -> str:
    """All that a page shows, one session after the other."""
    return "".join(_CONSOLE.findall((ROOT / "docs" / page).read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES)
def test_each_session_is_real(tmp_path: Path, page: str) -> None:
    for example, name in PAGES[page].items():
        shutil.copy(ROOT / "docs/examples" / example, tmp_path / name)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "toolhaft"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolhaft "$@"\n')
    command.chmod(0o755)
    real = ""

    commands = [line[2:] for line in sessions(page).splitlines() if line.startswith("$ ")]
    for line in commands:
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=30,
            check=False,
        )
        real += f"$ {line}\n{done.stdout}"

    assert len(commands) > 3
    assert real == sessions(page)
