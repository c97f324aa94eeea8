"""Execution of the clients' own commands."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from .clients import Client, Program
from .editors.text_edits import Unclear

# Timeout of a command, in seconds.
_PATIENCE = 60.0


def usable(client: Client, scope: str) -> tuple[Program, str] | None:
    """Return a client's program and its full path, if it is installed and supports the scope."""
    program = client.program
    if program is None or scope not in program.scopes:
        return None
    path = shutil.which(program.name)
    # The quoting of arguments for a batch file is unpredictable.
    if path is None or (os.name == "nt" and path.lower().endswith((".cmd", ".bat"))):
        return None
    return program, path


def run(words: Sequence[str]) -> None:
    """Run a command to its end.

    Raises:
        Unclear: it fails; the message contains its output.
    """
    try:
        done = subprocess.run(
            list(words),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unclear(f"{words[0]} takes longer than {_PATIENCE:g} seconds") from None
    except OSError as error:
        raise Unclear(f"{words[0]} cannot be run: {error.strerror or error}") from None
    if done.returncode:
        said = (done.stderr + done.stdout).decode(errors="replace").strip()
        raise Unclear(f"{words[0]} failed with status {done.returncode}\n{said}".rstrip())
