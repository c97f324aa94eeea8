"""The sessions on docs/install.md are real, but for the names of folders."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from toolhaft.cli.installing.clients import CLIENTS
from toolhaft.cli.installing.start_trial import launcher

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/install.md").read_text(encoding="utf-8")
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `([a-z-]+)` \| ([^|]+) \| ([A-Z]+) \| ([^|]*)\| ([^|]*)\| ([^|]*)\|$", re.M)


def spaced(text: str) -> str:
    """Without the widths of columns, which depend on the names of folders."""
    return re.sub(r"(?<=\S) {2,}(?=\S)", "  ", text)


def test_each_session_is_real(tmp_path: Path) -> None:
    home, programs = tmp_path / "home", tmp_path / "programs"
    project = home / "project"
    for folder in (home, programs, project, home / ".cursor"):
        folder.mkdir()
    shutil.copy(ROOT / "docs/examples/notes.py", project)
    command = programs / "toolhaft"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolhaft "$@"\n')
    command.chmod(0o755)
    shown = "".join(_CONSOLE.findall(PAGE))
    [started] = launcher()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    environment |= {"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin"}
    real = ""

    for line in [line[2:] for line in shown.splitlines() if line.startswith("$ ")]:
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=30,
            check=False,
        )
        out = done.stdout.replace(started, "/home/me/project/.venv/bin/toolhaft")
        real += f"$ {line}\n{out.replace(str(home), '/home/me')}"

    assert spaced(real) == spaced(shown)


def test_the_table_of_clients_is_the_one_in_the_code() -> None:
    rows = {row[0]: [cell.strip() for cell in row[1:]] for row in _ROW.findall(PAGE)}
    expected = {}
    for name, client in CLIENTS.items():
        program = f"`{client.program.name}`" if client.program else ""
        if client.program and "project" not in client.program.scopes:
            program += ", for the user"
        project = client.project[0].removeprefix("{project}/") if client.project else ""
        expected[name] = [
            client.title,
            {"jsonc": "JSON", "toml": "TOML", "yaml": "YAML"}[client.format],
            program,
            f"`{project}`" if project else "",
            "yes" if client.remote else "",
        ]

    assert rows == expected
