"""Where things are on a machine: functions of its platform, its environment and the home folder.

A place is written as in `{config}/zed/settings.json`; what stands in braces differs by machine. A
`*` in a name stands for anything, and for nothing if there is no such folder.
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
    """What a place depends on."""

    platform: str
    environment: Mapping[str, str]
    home: str
    project: str
    exists: Callable[[PurePath], bool] = os.path.exists
    names: Callable[[PurePath], Iterable[str]] = _names

    def roots(self) -> dict[str, str]:
        """What may stand in braces."""
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
        """A path as this platform writes it."""
        return PureWindowsPath(text) if self.platform == WINDOWS else PurePosixPath(text)


Places = Mapping[str, Sequence[str]]

STATE: Places = {
    LINUX: ["{state}/toolhaft/installed.json"],
    MAC: ["{support}/toolhaft/installed.json"],
    WINDOWS: ["{local}/toolhaft/installed.json"],
}


def this_machine() -> Machine:
    """The machine that we are on."""
    platform = sys.platform if sys.platform in (MAC, WINDOWS) else LINUX
    return Machine(platform, os.environ, str(Path.home()), str(Path.cwd()))


def locate(places: Places, machine: Machine) -> PurePath:
    """Where a file is or, if it is nowhere, where it would be.

    A place with a `*` is taken if there is such a folder, since then the client looks only there;
    else the first at which there is a file; else the first of all.
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
