"""Listening sockets: TCP, and Unix sockets in the file system."""

import contextlib
import errno
import os
import socket
import stat
import sys
import time
from collections.abc import Generator

if sys.platform != "win32":
    import fcntl


# Seconds between two attempts to lock a directory.
_RETRY_SECONDS = 0.01


def listen(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets, one per address: `localhost` may have two.

    Raises:
        OSError: the address is in use, or is not one of this machine.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise OSError(f"cannot listen at {host}: {error.strerror}") from None
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, (ip, _, *more) in found:
            listener = socket.socket(family, kind, protocol)
            sockets.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind((ip, port, *more))
            port = listener.getsockname()[1]  # port 0: both sockets get the same
            listener.listen(2048)
            listener.setblocking(False)
    except OSError as error:
        for listener in sockets:
            listener.close()
        hint = "; choose another port, or end what listens there"
        why = _why(error) + (hint if error.errno == errno.EADDRINUSE else "")
        raise OSError(error.errno, f"cannot listen at {host} port {port}: {why}") from None
    return sockets


@contextlib.contextmanager
def locked(path: str, seconds: float) -> Generator[None]:
    """Hold a lock on the directory of a socket while the socket is made or removed: a socket that
    is bound but does not listen yet looks like a stale one.

    Raises:
        OSError: another process has held the lock for `seconds`.
    """
    folder = os.path.dirname(path)
    directory = os.open(folder, os.O_RDONLY)
    deadline = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise OSError(
                        f"another program has locked {folder} for {seconds:g} s; end it, or choose "
                        "another directory"
                    ) from None
            time.sleep(_RETRY_SECONDS)
        yield
    finally:
        os.close(directory)


class AddressInUse(OSError):
    """Another process listens at the path."""


class UnixSocket:
    """A listening Unix socket that only its owner can use. `remove` deletes the file only if it is
    still the one made here.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        remove_stale(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _bind(self.socket, path)
        except OSError as error:
            self.socket.close()
            raise OSError(f"cannot listen at {path}: {_why(error)}") from None
        self.socket.listen(2048)
        self.socket.setblocking(False)
        self._inode = os.stat(path).st_ino
        self._is_removed = False

    def remove(self) -> None:
        """Delete the file, once: later its inode number may belong to another file."""
        if self._is_removed:
            return
        self._is_removed = True
        with contextlib.suppress(FileNotFoundError):
            if os.stat(self.path).st_ino == self._inode:
                os.unlink(self.path)


def _bind(listener: socket.socket, path: str) -> None:
    """Bind so that the file has mode 0600 from the start."""
    if sys.platform == "linux":
        # The file gets the mode of the socket. `umask` would affect other threads.
        os.fchmod(listener.fileno(), 0o600)
        listener.bind(path)
        return
    before = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(before)


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def remove_stale(path: str) -> None:
    """Delete the file of a socket at which no process listens any more.

    Raises:
        AddressInUse: a process listens there.
        OSError: the file is not a socket.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(f"cannot listen at {path}: there is something that is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)  # a full backlog means that a process listens
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except BlockingIOError:
            pass
    raise AddressInUse(f"cannot listen at {path}: somebody else does")
