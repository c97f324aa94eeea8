"""Files that belong to others: read as they are, changed as a whole or not at all."""

import os
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

from .splicing import Unclear

_BACKUP = ".toolhaft.bak"
_OWNER_ONLY = 0o600


class Snapshot(NamedTuple):
    """A file at some moment: where it really is, if it is a link, and what was in it.

    `data` is None if there was no file.
    """

    path: Path
    data: bytes | None

    @property
    def text(self) -> str:
        """What was in it; nothing if there was no file."""
        try:
            return (self.data or b"").decode()
        except UnicodeDecodeError as error:
            raise Unclear(f"not UTF-8 at byte {error.start}") from None


def read(path: Path) -> Snapshot:
    """A file as it is now.

    Raises:
        Unclear: it cannot be read, or is no file.
    """
    real = Path(os.path.realpath(path))
    try:
        if not stat.S_ISREG(real.stat().st_mode):
            raise Unclear("this is no file" + ("; it is a folder" if real.is_dir() else ""))
        return Snapshot(real, real.read_bytes())
    except FileNotFoundError:
        return Snapshot(real, None)
    except OSError as error:
        raise Unclear(f"cannot be read: {error.strerror or error}") from None


def check_writable(snapshot: Snapshot) -> None:
    """May this be written? A file that says no is not replaced behind its back.

    Raises:
        Unclear: it may not.
    """
    path = snapshot.path
    if snapshot.data is None:
        while not path.exists():
            path = path.parent
        if not path.is_dir():
            raise Unclear(f"{path} is no folder")
    elif not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK):
        raise Unclear("it is read-only; make it writable first")
    else:
        path = path.parent
    if not os.access(path, os.W_OK | os.X_OK):
        raise Unclear(f"nothing can be written in {path}")


def write(snapshot: Snapshot, data: bytes, *, private: bool = False) -> list[str]:
    """Put something else in the place of what was read; folders that are made are named.

    Args:
        private: if the file is new, nobody else may read it.

    Raises:
        Unclear: it has changed since it was read, or cannot be written. Nothing is written then.
    """
    made: list[str] = []
    try:
        made = _make_folders(snapshot.path.parent)
        _replace(snapshot, data, private=private)
    except OSError as error:
        remove_folders(made)
        raise Unclear(f"cannot be written: {error.strerror or error}") from None
    except Unclear:
        remove_folders(made)
        raise
    return made


def remove(snapshot: Snapshot) -> None:
    """Remove what was read.

    Raises:
        Unclear: it has changed since, or cannot be removed.
    """
    _check_unchanged(snapshot)
    try:
        snapshot.path.unlink()
    except OSError as error:
        raise Unclear(f"cannot be removed: {error.strerror or error}") from None


def remove_folders(folders: list[str]) -> list[str]:
    """Remove folders that were made for a file, the outermost first, if nothing else has come into
    them; those that are left are named."""
    left = list(folders)
    while left:
        try:
            os.rmdir(left[-1])
        except OSError:
            break  # somebody uses it now
        left.pop()
    return left


def backup_of(path: Path) -> Path:
    """Where the earlier state of a file is kept."""
    return path.with_name(path.name + _BACKUP)


def back_up(snapshot: Snapshot) -> None:
    """Keep what was read beside the file, for the same eyes only.

    Raises:
        Unclear: it cannot be written.
    """
    if snapshot.data is None:
        return
    copy = read(backup_of(snapshot.path))
    write(copy, snapshot.data, private=True)
    shutil.copymode(snapshot.path, copy.path)


def _make_folders(folder: Path) -> list[str]:
    missing: list[Path] = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir()
    return [str(each) for each in reversed(missing)]


def _replace(snapshot: Snapshot, data: bytes, *, private: bool) -> None:
    import tempfile  # noqa: PLC0415

    path = snapshot.path
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _dress(Path(name), path, private=private)
        _check_unchanged(snapshot)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    _sync_folder(path.parent)


def _dress(new: Path, old: Path, *, private: bool) -> None:
    """Give the new file the owner and the mode of the old one."""
    if not old.exists():
        new.chmod(_OWNER_ONLY if private else 0o666 & ~_umask())
        return
    before, now = old.stat(), new.stat()
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        shutil.chown(new, before.st_uid, before.st_gid)
    shutil.copymode(old, new)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _check_unchanged(snapshot: Snapshot) -> None:
    if read(snapshot.path).data != snapshot.data:
        raise Unclear("it was changed by somebody else at this moment; try again")


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return  # elsewhere a folder cannot be opened
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
