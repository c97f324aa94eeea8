"""Which clients are on this machine, and how that shows."""

import shutil
from pathlib import Path

from .clients import CLIENTS, Client
from .places import Machine, locate


def sign_of(client: Client, machine: Machine) -> str:
    """What shows that a client is there; empty if nothing does."""
    program = shutil.which(client.program.name) if client.program else None
    if program is not None:
        return program
    path = Path(locate(client.user, machine))
    if path.is_file():
        return str(path)
    folder = (
        Path(locate({machine.platform: [client.sign]}, machine)) if client.sign else path.parent
    )
    return str(folder) if folder.is_dir() else ""


def found(machine: Machine) -> list[Client]:
    """All clients that are there."""
    return [client for client in CLIENTS.values() if sign_of(client, machine)]
