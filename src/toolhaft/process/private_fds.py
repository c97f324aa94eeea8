"""Standard input and output, taken away from everybody but the protocol.

One stray `print` on stdout breaks a client. So before any code of the author runs, the two
descriptors are moved to private ones: what reads input then finds none, and what writes output,
child processes included, writes to stderr.
"""

import io
import os
import stat
import sys
from types import FrameType
from typing import Final

from .stderr_log import drain

# Where the modules of Python itself are, but for those that were installed beside them.
_LIBRARY: Final = os.path.dirname(os.__file__) + os.sep
_INSTALLED: Final = ("site-packages" + os.sep, "dist-packages" + os.sep)


class _Teller:
    """Sends what is printed to stderr, and says so once. Never waits: a client need not read it."""

    def __init__(self) -> None:
        self._said = False

    def put(self, text: str) -> None:
        """To be called by what the author calls."""
        if not self._said:
            self._said = True
            drain.put(
                "toolhaft: stdout belongs to the protocol, so what is printed goes to stderr; "
                f"first printed at {_place(sys._getframe(2))}\n"  # pyright: ignore[reportPrivateUsage]
            )
        drain.put(text)


def _place(frame: FrameType) -> str:
    """Who has printed: not what of Python itself was used for it."""
    each: FrameType | None = frame
    while each is not None and _is_of_python(each.f_code.co_filename):
        each = each.f_back
    found = frame if each is None else each
    return f"{found.f_code.co_filename}:{found.f_lineno}"


def _is_of_python(filename: str) -> bool:
    if filename.startswith("<frozen "):
        return True
    rest = filename.removeprefix(_LIBRARY)
    return rest != filename and not rest.startswith(_INSTALLED)


class _DivertedBytes(io.BufferedIOBase):
    """Stands in for `sys.stdout.buffer`."""

    name = "<stdout>"
    mode = "wb"

    def __init__(self, teller: _Teller) -> None:
        self._teller = teller

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Write to stderr."""
        taken = bytes(data)
        self._teller.put(taken.decode("utf-8", "backslashreplace"))
        return len(taken)

    @property
    def raw(self) -> "_DivertedBytes":
        """Nothing is held back here, so it is the same."""
        return self

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """The descriptor, which leads to stderr too."""
        return 1

    def close(self) -> None:
        """It stays: what is put around it for a while closes it."""


class Diverted(io.TextIOBase):
    """Stands in for `sys.stdout`: sends what is printed to stderr, and says so once."""

    encoding = "utf-8"
    errors = "backslashreplace"
    newlines = None
    name = "<stdout>"
    mode = "w"
    line_buffering = True
    write_through = True

    def __init__(self) -> None:
        self._teller = _Teller()
        self._bytes = _DivertedBytes(self._teller)

    def write(self, text: str, /) -> int:
        """Write to stderr."""
        self._teller.put(text)
        return len(text)

    def reconfigure(self, **_: object) -> None:
        """Whatever is asked for, it stays as it is: stderr takes every text."""

    def flush(self) -> None:
        """Nothing is held back here."""

    def close(self) -> None:
        """It stays."""

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """The descriptor, which leads to stderr too."""
        return 1

    @property
    def buffer(self) -> io.BufferedIOBase:
        """For those who print bytes."""
        return self._bytes

    def detach(self) -> io.BufferedIOBase:  # type: ignore[override]
        """The same, for those who put another text around it."""
        return self._bytes


class Descriptors:
    """The private ends of stdin and stdout."""

    __slots__ = ("input", "output")

    def __init__(self, input_: int, output: int) -> None:
        self.input = input_
        self.output = output


_taken: Descriptors | None = None
_watched = False
# Is this process a fork of the one that serves?
forked = False


def take() -> Descriptors:
    """Move stdin and stdout out of reach. Done once in a process; later calls get the same.

    Raises:
        OSError: one of them is closed.
    """
    global _taken
    if _taken is None:
        if sys.stdout is None or sys.stdin is None:
            raise OSError("stdin and stdout must be open: they are how a client talks to us")
        sys.stdout.flush()
        _taken = Descriptors(os.dup(0), os.dup(1))
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # stderr is closed
            os.dup2(null, 1)
        os.close(null)
        sys.stdout = Diverted()
        watch_forks()
    return _taken


def is_pipe(descriptor: int) -> bool:
    """Can it be told not to wait? A terminal shares its description with stderr, which must stay as
    it is."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def never_block(descriptor: int) -> None:
    """Let nobody wait for the other side."""
    if is_pipe(descriptor):
        os.set_blocking(descriptor, False)


def give_back() -> None:
    """Put stdin and stdout back where they were: nobody speaks on them."""
    global _taken
    if _taken is not None:
        os.dup2(_taken.input, 0)
        os.dup2(_taken.output, 1)
        os.close(_taken.input)
        os.close(_taken.output)
        _taken, sys.stdout = None, sys.__stdout__


def watch_forks() -> None:
    """This process is the one that serves; one that is forked off it from now on is not."""
    global _watched, forked
    forked = False
    if not _watched:
        _watched = True
        os.register_at_fork(after_in_child=_disown)


def _disown() -> None:
    """A tool that forks makes a second server; the copy must neither read nor write the wire."""
    global forked
    forked = True
    if _taken is not None:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, _taken.input)
        os.dup2(null, _taken.output)
        os.close(null)
