"""Syntax of a TARGET."""

from pathlib import Path


def parts_of(target: str) -> tuple[str, str]:
    """Split a target into file or module and the name in it, which is empty if omitted."""
    where, colon, name = target.rpartition(":")
    if not colon or "/" in name or "\\" in name:  # the colon of a Windows drive
        return target, ""
    return where, name


def is_project(target: str) -> bool:
    """Test whether a target is a project folder.

    A bare word counts only if the folder has a `pyproject.toml`: it may also name a package.
    """
    folder = Path(target)
    if not folder.is_dir():
        return False
    is_path = folder.is_absolute() or "/" in target or "\\" in target or target in (".", "..")
    return is_path or (folder / "pyproject.toml").is_file()
