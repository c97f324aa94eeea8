"""Stands for a program that runs elsewhere: `relay.py SOCKET WORDS…`.

This starts hundreds of times, so it imports nothing but what is built into Python.
"""

import _signal
import _socket
import posix
import sys


def main(path: str, words: list[str]) -> None:
    """Hand everything over, and end as the program does."""
    connection = _socket.socket(_socket.AF_UNIX)
    connection.connect(path)
    own = [name + b"=" + value for name, value in posix.environ.items()]
    start = [
        posix.getcwdb(),
        b"%d" % len(words),
        *(word.encode("utf-8", "surrogateescape") for word in words),
        *own,
    ]
    said = b"\0".join(start)
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    passed = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
    sent = connection.sendmsg([b"%d\n" % len(said), said], passed)
    connection.sendall((b"%d\n" % len(said) + said)[sent:])
    for number in (_signal.SIGINT, _signal.SIGTERM):
        _signal.signal(number, lambda number, _: connection.send(bytes([number])))
    for stream in (0, 1, 2):
        posix.close(stream)
    status = int(connection.recv(64) or b"1")
    if status < 0:
        if -status != _signal.SIGKILL:  # for which nothing else can be done
            _signal.signal(-status, _signal.SIG_DFL)
        posix.kill(posix.getpid(), -status)
    posix._exit(status)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
