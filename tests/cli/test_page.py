"""The sessions on docs/command-line.md are real: each command is run, and answers what is shown."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sessions() -> str:
    """All that is shown, one session after the other."""
    return "".join(_CONSOLE.findall(PAGE))


def test_each_session_is_real(tmp_path: Path) -> None:
    for example in ("notes.py", "parameters.py"):
        shutil.copy(ROOT / "docs/examples" / example, tmp_path)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "toolhaft"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolhaft "$@"\n')
    command.chmod(0o755)
    real = ""

    commands = [line[2:] for line in sessions().splitlines() if line.startswith("$ ")]
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

    assert len(commands) > 10
    assert real == sessions()
