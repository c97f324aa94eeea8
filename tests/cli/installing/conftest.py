"""A home folder for each test, and the command in this process."""

import os
import stat
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from toolhaft.cli import main

SOURCE = str(Path(__file__).parents[3] / "src")
SERVER = """\
from toolhaft import Server

server = Server("My Notes", version="1.0.0")

@server.tool
def shout(text: str) -> str:
    return text.upper()
"""


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    status: int
    out: str
    err: str


class House:
    """A machine with nothing on it but a server in a project."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.home = root / "home"
        self.project = root / "project"
        self.programs = root / "programs"
        for folder in (self.home, self.project, self.programs):
            folder.mkdir()
        (self.project / "notes.py").write_text(SERVER)

    def run(self, *words: str) -> Done:
        """Run `toolhaft`."""
        self._capsys.readouterr()
        try:
            status = main(words)
        except SystemExit as ended:
            status = int(str(ended.code))
        out, err = self._capsys.readouterr()
        return Done(status, out, err)

    def put(self, path: str, text: str) -> Path:
        """A file in the home folder, with these very characters."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def program(self, name: str, source: str) -> None:
        """A program on the PATH, written in Python."""
        path = self.programs / name
        path.write_text(f"#!{sys.executable}\nimport json, os, sys\n{source}")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def tree(self) -> dict[str, bytes]:
        """All files below home and project but our own receipts, with what is in them."""
        found = {
            str(path.relative_to(self.home.parent)): path.read_bytes() if path.is_file() else b"/"
            for folder in (self.home, self.project)
            for path in folder.rglob("*")
        }
        return {name: data for name, data in found.items() if ".local" not in name}


@pytest.fixture
def house(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> House:
    made = House(tmp_path, capsys)
    for name in list(os.environ):
        if name.startswith("XDG_") or name in ("CODEX_HOME", "COPILOT_HOME", "CLAUDE_CONFIG_DIR"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("PATH", str(made.programs))
    monkeypatch.chdir(made.project)
    return made
