"""Detection of the clients that are installed on this machine."""

import os
import shutil
from pathlib import Path

from .clients import CLIENTS, Client
from .machine import Machine, locate
from .receipts import Receipts


def sign_of(client: Client, machine: Machine, receipts: Receipts) -> str:
    """Return the program, file or folder that proves that a client is installed; empty if none.

    Files and folders that toolhaft created prove nothing.
    """
    program = shutil.which(client.program.name) if client.program else None
    if program is not None:
        return program
    path = Path(locate(client.user, machine))
    real = Path(os.path.realpath(path))
    made = {str(real), *receipts.folders(real)} if receipts.created(real) else set[str]()
    if path.is_file() and not made:
        return str(path)
    folder = (
        Path(locate({machine.platform: [client.sign]}, machine)) if client.sign else path.parent
    )
    return str(folder) if folder.is_dir() and not _is_ours(folder, made) else ""


def _is_ours(folder: Path, made: set[str]) -> bool:
    """Test whether toolhaft created a folder and everything in it."""
    real = os.path.realpath(folder)
    return real in made and {os.path.join(real, name) for name in os.listdir(real)} <= made


def found(machine: Machine, receipts: Receipts) -> list[Client]:
    """Return the installed clients."""
    return [client for client in CLIENTS.values() if sign_of(client, machine, receipts)]
