"""An environment for each contender: what is installed for it, and nothing else.

What else lies around makes a difference: msgspec, for one, loads `typing_extensions` where it finds
it, and tools for developers hook into the start of Python.
"""

from __future__ import annotations

import venv
from functools import cache
from pathlib import Path

from footprint import SOURCE, installed_for

HOMES = Path(__file__).resolve().parent / ".cache" / "homes"


@cache
def python_of(*installs: str) -> str:
    """The Python of an environment that has what is installed here for these, by links.

    Raises:
        PackageNotFoundError: something of it is not installed.
    """
    found = {name: each for install in installs for name, each in installed_for(install).items()}
    home = HOMES / "+".join(installs)
    venv.create(home, clear=True, symlinks=True)
    (packages,) = home.glob("lib/python*/site-packages")
    parts: dict[str, Path] = {}  # by name, since packages may share a folder
    for name, installed in found.items():
        if name == "toolhaft":  # which is installed from its source, as it is here
            parts |= {package.name: package for package in SOURCE.iterdir()}
            continue
        names = {file.parts[0] for file in installed.files or ()} - {"..", "__pycache__"}
        parts |= {name: Path(str(installed.locate_file(name))) for name in names}
    for name, part in parts.items():
        (packages / name).symlink_to(part)
    return str(home / "bin" / "python")
