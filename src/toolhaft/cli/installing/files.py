"""Files that belong to others: read as they are, changed as a whole or not at all."""

import contextlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

from . import open_folder
from .editors.text_edits import Unclear
from .open_folder import Folder

_BACKUP = ".toolhaft.bak"
_OWNER_ONLY = 0o600


class Snapshot(NamedTuple):
    """A file at some moment, and what was in it.

    Args:
        path: where it is. If the file of a user is a link, this is what the link points to.
        data: None if there was no file.
        root: the folder of a project, which may come from elsewhere: no link below it is followed.
            None for a file of the user, whose links are theirs.
    """

    path: Path
    data: bytes | None
    root: Path | None = None

    @property
    def text(self) -> str:
        """What was in it; nothing if there was no file."""
        try:
            return (self.data or b"").decode()
        except UnicodeDecodeError as error:
            raise Unclear(f"not UTF-8 at byte {error.start}") from None


def read(path: Path, root: Path | None = None) -> Snapshot:
    """A file as it is now.

    Args:
        root: the folder of the project that the file belongs to, if it belongs to one.

    Raises:
        Unclear: it cannot be read, is no file, or is reached through a link of a project.
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
    """The same file as it is now.

    Raises:
        Unclear: it cannot be read.
    """
    return read(snapshot.path, snapshot.root)


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
        private: if the file is new, only its owner may read it.

    Raises:
        Unclear: it has changed since it was read, or cannot be written. Nothing is written then.
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
    """Remove what was read.

    Raises:
        Unclear: it has changed since, or cannot be removed.
    """
    try:
        with open_folder.opened(snapshot.path.parent, snapshot.root) as folder:
            _check_unchanged(folder, snapshot)
            folder.remove(snapshot.path.name)
    except OSError as error:
        raise Unclear(f"cannot be removed: {error.strerror or error}") from None


def remove_folders(made: list[str]) -> list[str]:
    """Remove folders that were made for a file, the outermost first, if nothing else has come into
    them; those that are left are named."""
    left = list(made)
    while left:
        try:
            os.rmdir(left[-1])
        except OSError:
            break  # it is in use
        left.pop()
    return left


# The earlier state of a file is kept beside it. Its name can be foreseen, and so a repository can
# have a link of that name: it is never followed, neither for a project nor for a user.


def backup_of(path: Path) -> Path:
    """Where the earlier state of a file is kept."""
    return path.with_name(path.name + _BACKUP)


def check_backup(snapshot: Snapshot) -> None:
    """Is there a file in the place of the backup, or nothing?

    Raises:
        Unclear: it is a link, or something else.
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
    """Keep what was read beside the file, with the same mode and owner.

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
    """What is in the backup of a file; None if there is none."""
    path = snapshot.path
    try:
        with open_folder.opened(path.parent, snapshot.root) as folder:
            return _content(folder, backup_of(path).name)
    except (OSError, Unclear):
        return None


def drop_backup(snapshot: Snapshot) -> None:
    """Remove the backup of a file, if there is one.

    Raises:
        Unclear: its folder is reached through a link of a project.
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
    """A new file beside another; the result is its name.

    Args:
        like: whose owner and mode it gets.
        mode: its mode, if it is like no other.
    """
    from secrets import token_hex  # noqa: PLC0415

    temporary = f".{name}.{token_hex(6)}"
    descriptor = folder.create(temporary)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
            # By the descriptor where the system can: the name may stand for something else by now.
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
