"""Locations of files, as functions of platform, environment and home folder.

A location is a template such as `{config}/zed/settings.json`; the root in braces depends on the
machine. A `*` matches the rest of an existing folder's name; without a match the template is
skipped.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import NamedTuple

LINUX, MAC, WINDOWS = "linux", "darwin", "win32"


def _names(folder: PurePath) -> Iterable[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return ()


class Machine(NamedTuple):
    """The facts that a location depends on."""

    platform: str
    environment: Mapping[str, str]
    home: str
    project: str
    exists: Callable[[PurePath], bool] = os.path.exists
    names: Callable[[PurePath], Iterable[str]] = _names

    def roots(self) -> dict[str, str]:
        """Return the roots by the name that stands in braces."""
        home = self.path(self.home)
        known = self.environment.get
        return {
            "home": self.home,
            "project": self.project,
            "config": known("XDG_CONFIG_HOME") or str(home / ".config"),
            "state": known("XDG_STATE_HOME") or str(home / ".local" / "state"),
            "support": str(home / "Library" / "Application Support"),
            "roaming": known("APPDATA") or str(home / "AppData" / "Roaming"),
            "local": known("LOCALAPPDATA") or str(home / "AppData" / "Local"),
            "claude": known("CLAUDE_CONFIG_DIR") or self.home,
            "codex": known("CODEX_HOME") or str(home / ".codex"),
            "copilot": known("COPILOT_HOME") or str(home / ".copilot"),
        }

    def path(self, text: str) -> PurePath:
        """Convert a text to a path of this platform."""
        return PureWindowsPath(text) if self.platform == WINDOWS else PurePosixPath(text)


Places = Mapping[str, Sequence[str]]

STATE: Places = {
    LINUX: ["{state}/toolhaft/installed.json"],
    MAC: ["{support}/toolhaft/installed.json"],
    WINDOWS: ["{local}/toolhaft/installed.json"],
}


def this_machine() -> Machine:
    """Describe the machine of this process."""
    platform = sys.platform if sys.platform in (MAC, WINDOWS) else LINUX
    return Machine(platform, os.environ, str(Path.home()), str(Path.cwd()))


def locate(places: Places, machine: Machine) -> PurePath:
    """Return the path of an existing file or, if there is none, where to create it.

    A template with a `*` is taken if a folder matches, since the client then reads only that one;
    otherwise the first template whose file exists; otherwise the first without a `*`.
    """
    plain: list[PurePath] = []
    for template in places[machine.platform]:
        if "*" in template:
            found = _matching(template, machine)
            if found is not None:
                return found
        else:
            plain.append(_expanded(template, machine))
    return next((path for path in plain if machine.exists(path)), plain[0])


def _expanded(template: str, machine: Machine) -> PurePath:
    root, _, rest = template.removeprefix("{").partition("}")
    return machine.path(machine.roots()[root]).joinpath(*rest.strip("/").split("/"))


def _matching(template: str, machine: Machine) -> PurePath | None:
    folder, _, rest = template.partition("*")
    folder, _, begin = folder.rpartition("/")
    parent = _expanded(folder, machine)
    for name in machine.names(parent):
        if name.startswith(begin):
            return parent.joinpath(name, *rest.strip("/").split("/"))
    return None
