"""Files that a command was told to write, and cannot."""

import os


def cannot_write(path: str, error: OSError) -> str:
    """Why not, and what to do where that is plain."""
    folder = os.path.dirname(path) or os.curdir
    if not os.path.isdir(folder):
        return f"cannot write {path!r}: there is no folder {folder!r}; make it first"
    return f"cannot write {path!r}: {error.strerror or error}"
