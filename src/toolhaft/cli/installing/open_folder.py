"""Open folders: a name relative to a descriptor means the same file from check to write.

A repository can contain symbolic links, and code in it can replace a folder by one at any moment.
So below a given root each part of a path is opened separately, and none may be a link.
"""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from .editors.text_edits import Unclear

_CAN_HOLD = os.open in os.supports_dir_fd
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK | getattr(os, "O_CLOEXEC", 0)
_FILE = _NO_LINK | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# O_NONBLOCK: opening a FIFO in the place of a file must not block.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _FILE
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE


class Folder(NamedTuple):
    """An open folder. Without a descriptor, as on Windows, names are joined to its path."""

    path: Path
    descriptor: int | None

    def read(self, name: str) -> int:
        """Open a file for reading; fail if it is a link."""
        return os.open(self.at(name), _READ, dir_fd=self.descriptor)

    def create(self, name: str) -> int:
        """Create a file for writing, with mode 0600; fail if it exists."""
        return os.open(self.at(name), _CREATE, 0o600, dir_fd=self.descriptor)

    def stat(self, name: str) -> os.stat_result | None:
        """Return the status of a file or link; None if it does not exist."""
        try:
            return os.stat(self.at(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def replace(self, name: str, other: str) -> None:
        """Rename a file over another."""
        folder = self.descriptor
        os.replace(self.at(name), self.at(other), src_dir_fd=folder, dst_dir_fd=folder)

    def remove(self, name: str) -> None:
        """Remove a file, or a link."""
        os.unlink(self.at(name), dir_fd=self.descriptor)

    def sync(self) -> None:
        """Flush the entries of the folder to disk."""
        if self.descriptor is not None:
            os.fsync(self.descriptor)

    def at(self, name: str) -> str:
        """Return the path to pass to system calls together with `dir_fd`."""
        return str(self.path / name) if self.descriptor is None else name


def check_no_link(path: Path, root: Path) -> None:
    """Check that no part of a path below a root is a symbolic link.

    Raises:
        Unclear: a part is a link.
    """
    while path != root:
        if path.is_symlink():
            raise _is_link(path)
        path = path.parent


@contextmanager
def opened(path: Path, root: Path | None = None) -> Generator[Folder]:
    """Open an existing folder.

    Args:
        root: no part of the path below this folder may be a link.

    Raises:
        Unclear: a part is a link.
        OSError: it cannot be opened, or does not exist.
    """
    with _walked(path, root or path, make=None) as folder:
        yield folder


@contextmanager
def made(path: Path, root: Path | None, new: list[str]) -> Generator[Folder]:
    """Open a folder, and create missing folders; their paths are appended to `new`."""
    if root is None:
        root = path
        while not root.exists():
            root = root.parent
    with _walked(path, root, make=new) as folder:
        yield folder


@contextmanager
def _walked(path: Path, root: Path, *, make: list[str] | None) -> Generator[Folder]:
    descriptor = os.open(root, _FOLDER) if _CAN_HOLD else None
    at = root
    try:
        for part in path.relative_to(root).parts:
            folder, at = Folder(at, descriptor), at / part
            if make is not None and folder.stat(part) is None:
                os.mkdir(folder.at(part), dir_fd=descriptor)
                make.append(str(at))
            if descriptor is not None:
                inner = _inner(at, descriptor)
                os.close(descriptor)
                descriptor = inner
        if not _CAN_HOLD:
            check_no_link(path, root)
        yield Folder(path, descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _inner(path: Path, descriptor: int) -> int:
    try:
        return os.open(path.name, _FOLDER, dir_fd=descriptor)
    except OSError as error:
        if path.is_symlink() and error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _is_link(path) from None
        raise


def _is_link(path: Path) -> Unclear:
    return Unclear(
        f"{path} is a symbolic link, and a project's files are not written through links, which "
        "may point anywhere; put a file or folder in its place, or use --scope user"
    )
