"""Opens output files under names that a user gives, without following symbolic links to files.

The folder may come from an untrusted source such as a repository, with a symbolic link of that name
to any file. A link to anything but a regular file is followed, since `/dev/stderr` is one.
"""

import errno
import os
import stat

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_OWNER_ONLY = 0o600
_OTHERS = 0o077


def open_to_write(path: str, flags: int, mode: int = 0o666) -> int:
    """Open a file for writing.

    Raises:
        OSError: it is a symbolic link to a file, or cannot be opened.
    """
    try:
        return os.open(path, flags | _NO_LINK | _PLAIN, mode)
    except OSError as error:
        # With O_NOFOLLOW a link fails with EMLINK on FreeBSD, and with ELOOP elsewhere.
        if error.errno not in (errno.ELOOP, errno.EMLINK) or not os.path.islink(path):
            raise
    # Neither create nor truncate before the type of the target is known.
    try:
        descriptor = os.open(path, flags & ~(os.O_CREAT | os.O_TRUNC) | _PLAIN)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            error.errno,
            "it is a symbolic link to a file that does not exist; give the name of that file",
            path,
        ) from None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(
            errno.ELOOP, "it is a symbolic link; give the name of the file that it points to", path
        )
    return descriptor


def replace(path: str, data: bytes) -> None:
    """Replace the contents of a file.

    Raises:
        OSError: it is a symbolic link to a file, or cannot be written.
    """
    with open(open_to_write(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(data)


def open_log(path: str) -> int:
    """Open a file for appending, readable only by its owner, even if it existed before.

    Raises:
        OSError: it cannot be opened, or other users can read it and its mode cannot be changed.
    """
    descriptor = open_to_write(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _OWNER_ONLY)
    try:
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_mode & _OTHERS:
            _keep_to_owner(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _keep_to_owner(descriptor: int, path: str) -> None:
    if os.chmod not in os.supports_fd:
        return  # Windows, where the mode does not determine which users can read a file
    try:
        os.chmod(descriptor, _OWNER_ONLY)
    except PermissionError as error:
        raise OSError(
            error.errno,
            "other users can read it, and it belongs to one of them; run chmod 600",
            path,
        ) from None
