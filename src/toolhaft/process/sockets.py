"""Sockets that listen: at a host and port, or in the file system."""

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


_OFTEN = 0.01


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen there: `localhost` may be two.

    Raises:
        OSError: the address is taken, or is not ours.
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
            port = listener.getsockname()[1]  # the same for both, if any will do
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
    """Whoever makes or removes a socket in this directory does it alone: one that is bound and does
    not listen yet looks like one that was left behind.

    Raises:
        OSError: somebody else takes longer than that.
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
            time.sleep(_OFTEN)
        yield
    finally:
        os.close(directory)


class Taken(OSError):
    """Somebody else listens there."""


class UnixSocket:
    """A socket in the file system that only its owner can use; removed at the end, if it is still
    the one that was made here."""

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
        """Take it out of the file system, once: the number of its file may be another's by then."""
        if self._is_removed:
            return
        self._is_removed = True
        with contextlib.suppress(FileNotFoundError):
            if os.stat(self.path).st_ino == self._inode:
                os.unlink(self.path)


def _bind(listener: socket.socket, path: str) -> None:
    """Nobody else can use it, not even for a moment."""
    if sys.platform == "linux":
        # The file gets the mode of the socket. The mask would be that of other threads, too.
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
    """A socket that nobody listens to any more is in the way.

    Raises:
        OSError: somebody does, or it is something else.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise OSError(f"cannot listen at {path}: there is something that is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)  # one who is too busy to accept us is there as well
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except BlockingIOError:
            pass
    raise Taken(f"cannot listen at {path}: somebody else does")
