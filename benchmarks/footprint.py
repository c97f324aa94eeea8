"""What a contender brings with it: the packages that are installed for it, and their size."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SOURCE = Path(__file__).resolve().parents[1] / "src"

# What a user installs, in the order of the table.
INSTALLS = ("toolhaft", "toolhaft[http]", "mcp", "fastmcp")


@dataclass(frozen=True)
class Footprint:
    install: str
    packages: int
    megabytes: float  # without bytecode


def footprint(install: str) -> Footprint:
    """Count what is installed for it.

    Raises:
        PackageNotFoundError: something of it is not.
    """
    found = installed_for(install)
    size = sum(map(_bytes_of, found.values()))
    return Footprint(install, len(found), size / 1e6)


def installed_for(install: str) -> dict[str, Distribution]:
    """Follow the requirements of what is installed here: each package, by name.

    Raises:
        PackageNotFoundError: one of them is not installed.
    """
    found: dict[str, Distribution] = {}
    _collect(Requirement(install), found)
    return found


def footprints() -> list[Footprint]:
    """Of all that can be measured here."""
    known = []
    for install in INSTALLS:
        try:
            known.append(footprint(install))
        except PackageNotFoundError:
            continue
    return known


def _collect(requirement: Requirement, found: dict[str, Distribution]) -> None:
    name = canonicalize_name(requirement.name)
    known = found.setdefault(name, distribution(name))
    for inner in map(Requirement, known.requires or ()):
        is_new = canonicalize_name(inner.name) not in found or inner.extras
        if is_new and _is_wanted(inner, requirement.extras):
            _collect(inner, found)


def _is_wanted(requirement: Requirement, extras: set[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""}))


def _bytes_of(installed: Distribution) -> int:
    if installed.name == "toolhaft":  # installed from its source, which lists no files
        paths = list(SOURCE.rglob("*"))
    else:
        paths = [Path(str(file.locate())) for file in installed.files or ()]
    return sum(path.stat().st_size for path in paths if path.suffix != ".pyc" and path.is_file())
