"""Reading, atomic replacement and backup of configuration files."""

import contextlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

from . import open_folder
from .editors.text_edits import Unclear
from .open_folder import Folder

_BACKUP = ".toolhaft.bak"
# Mode of a file that only its owner may read and write.
_OWNER_ONLY = 0o600


class Snapshot(NamedTuple):
    """The content of a file at one moment.

    Args:
        path: the file. For a file of the user, symbolic links are resolved.
        data: None if there was no file.
        root: the folder of a project. It may be untrusted, so no link below it is followed. None
            for a file of the user, whose links are trusted.
    """

    path: Path
    data: bytes | None
    root: Path | None = None

    @property
    def text(self) -> str:
        """Decode the content; empty if there was no file."""
        try:
            return (self.data or b"").decode()
        except UnicodeDecodeError as error:
            raise Unclear(f"not UTF-8 at byte {error.start}") from None


def read(path: Path, root: Path | None = None) -> Snapshot:
    """Read a file into a snapshot.

    Args:
        root: the folder of the project that contains the file; None for a file of the user.

    Raises:
        Unclear: it cannot be read, is not a regular file, or is below a link in a project.
    """
    if root is None:
        path = Path(os.path.realpath(path))
    else:
        path = Path(os.path.realpath(root)) / path.relative_to(root)
        root = Path(os.path.realpath(root))
        open_folder.check_no_link(path, root)
    try:
        with open_folder.opened(path.parent, root) as folder:
            return Snapshot(path, _content(folder, path.name), root)
    except (FileNotFoundError, NotADirectoryError):
        return Snapshot(path, None, root)
    except OSError as error:
        raise Unclear(f"cannot be read: {error.strerror or error}") from None


def again(snapshot: Snapshot) -> Snapshot:
    """Read the file of a snapshot again.

    Raises:
        Unclear: it cannot be read.
    """
    return read(snapshot.path, snapshot.root)


def check_writable(snapshot: Snapshot) -> None:
    """Check the permissions: replacing a file would succeed even if it is read-only.

    Raises:
        Unclear: the file or its folder is not writable.
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
    """Replace the content of a file atomically; return the folders that were created.

    Args:
        private: create a new file with mode 0600.

    Raises:
        Unclear: it has changed since the snapshot, or cannot be written. Then nothing is written.
    """
    made: list[str] = []
    name = snapshot.path.name
    try:
        with open_folder.made(snapshot.path.parent, snapshot.root, made) as folder:
            like = folder.stat(name)
            mode = _OWNER_ONLY if private else 0o666 & ~_umask()
            temporary = _written(folder, name, data, like=like, mode=mode)
            try:
                _check_unchanged(folder, snapshot)
                folder.replace(temporary, name)
            except BaseException:
                folder.remove(temporary)
                raise
            folder.sync()
    except OSError as error:
        remove_folders(made)
        raise Unclear(f"cannot be written: {error.strerror or error}") from None
    except Unclear:
        remove_folders(made)
        raise
    return made


def remove(snapshot: Snapshot) -> None:
    """Remove a file.

    Raises:
        Unclear: it has changed since the snapshot, or cannot be removed.
    """
    try:
        with open_folder.opened(snapshot.path.parent, snapshot.root) as folder:
            _check_unchanged(folder, snapshot)
            folder.remove(snapshot.path.name)
    except OSError as error:
        raise Unclear(f"cannot be removed: {error.strerror or error}") from None


def remove_folders(made: list[str]) -> list[str]:
    """Remove created folders that are empty, the innermost first; return those that are left.

    Args:
        made: the folders, the outermost first.
    """
    left = list(made)
    while left:
        try:
            os.rmdir(left[-1])
        except OSError:
            break  # not empty
        left.pop()
    return left


# A backup is beside its file, under a predictable name. A repository may contain a link of that
# name, so a link is never followed here, neither for a project nor for a user.


def backup_of(path: Path) -> Path:
    """Return the path of a file's backup."""
    return path.with_name(path.name + _BACKUP)


def check_backup(snapshot: Snapshot) -> None:
    """Check that the backup can be written: its path is a regular file or does not exist.

    Raises:
        Unclear: it is a link or another kind of file.
    """
    path = backup_of(snapshot.path)
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        what = "a symbolic link" if stat.S_ISLNK(mode) else "no file"
        raise Unclear(f"its backup would be {path}, which is {what}; remove that first")


def back_up(snapshot: Snapshot) -> None:
    """Write the snapshot to the backup, with the mode and owner of the file.

    Raises:
        Unclear: it cannot be written.
    """
    if snapshot.data is None:
        return
    check_backup(snapshot)
    path = snapshot.path
    name = backup_of(path).name
    try:
        with open_folder.opened(path.parent, snapshot.root) as folder:
            like = folder.stat(path.name)
            temporary = _written(folder, name, snapshot.data, like=like, mode=_OWNER_ONLY)
            try:
                folder.replace(temporary, name)
            except BaseException:
                folder.remove(temporary)
                raise
    except OSError as error:
        raise Unclear(f"{name} cannot be written: {error.strerror or error}") from None


def kept(snapshot: Snapshot) -> bytes | None:
    """Return the content of the backup; None if there is none."""
    path = snapshot.path
    try:
        with open_folder.opened(path.parent, snapshot.root) as folder:
            return _content(folder, backup_of(path).name)
    except (OSError, Unclear):
        return None


def drop_backup(snapshot: Snapshot) -> None:
    """Remove the backup of a file, if there is one.

    Raises:
        Unclear: its folder is below a link in a project.
    """
    path = snapshot.path
    with (
        contextlib.suppress(FileNotFoundError),
        open_folder.opened(path.parent, snapshot.root) as at,
    ):
        at.remove(backup_of(path).name)


def _content(folder: Folder, name: str) -> bytes | None:
    found = folder.stat(name)
    if found is None:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise Unclear(
            "this is no file" + ("; it is a folder" if stat.S_ISDIR(found.st_mode) else "")
        )
    with open(folder.read(name), "rb") as file:
        return file.read()


def _written(
    folder: Folder, name: str, data: bytes, *, like: os.stat_result | None, mode: int
) -> str:
    """Write a temporary file in the folder of another; return its name.

    Args:
        like: the file whose owner and mode it gets.
        mode: its mode if `like` is None.
    """
    from secrets import token_hex  # noqa: PLC0415

    temporary = f".{name}.{token_hex(6)}"
    descriptor = folder.create(temporary)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
            # By descriptor where supported: another process may have replaced the name.
            new = descriptor if os.chmod in os.supports_fd else folder.at(temporary)
            if like is not None:
                _give(descriptor, like)
                mode = stat.S_IMODE(like.st_mode)
            os.chmod(new, mode)
    except BaseException:
        folder.remove(temporary)
        raise
    return temporary


def _give(descriptor: int, like: os.stat_result) -> None:
    now = os.fstat(descriptor)
    if (like.st_uid, like.st_gid) != (now.st_uid, now.st_gid):
        os.chown(descriptor, like.st_uid, like.st_gid)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _check_unchanged(folder: Folder, snapshot: Snapshot) -> None:
    if _content(folder, snapshot.path.name) != snapshot.data:
        raise Unclear("it was changed by another program at this moment; try again")
