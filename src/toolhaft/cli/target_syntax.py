"""How a TARGET is spelled."""

from pathlib import Path


def parts_of(target: str) -> tuple[str, str]:
    """The file or module, and the name within it, which is empty if it is left out."""
    where, colon, name = target.rpartition(":")
    if not colon or "/" in name or "\\" in name:  # the colon of a drive is not ours
        return target, ""
    return where, name


def is_project(target: str) -> bool:
    """Is it a folder with a `pyproject.toml`, or meant to be one? A bare word may be a package in
    the present folder just as well."""
    folder = Path(target)
    if not folder.is_dir():
        return False
    is_path = folder.is_absolute() or "/" in target or "\\" in target or target in (".", "..")
    return is_path or (folder / "pyproject.toml").is_file()
