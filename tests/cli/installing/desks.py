"""An installer at work on one file."""

from toolhaft.cli.installing.installer import Desk
from toolhaft.cli.installing.machine import Machine


def at_desk(home: str) -> Desk:
    """A new process, which knows only what is in files."""
    return Desk(Machine("linux", {}, home, home))
