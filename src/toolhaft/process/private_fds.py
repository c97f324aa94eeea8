"""stdin and stdout on private descriptors, reserved for the protocol.

One stray `print` on stdout breaks a client. So before any code of the author runs, the two
descriptors are duplicated to private numbers. Descriptor 0 then reads from the null device, and
descriptor 1, also that of child processes, leads to stderr.
"""

import io
import os
import stat
import sys
from types import FrameType
from typing import Final

from .stderr_log import drain

# The directory of the standard library, and the directories in it with installed packages.
_LIBRARY: Final = os.path.dirname(os.__file__) + os.sep
_INSTALLED: Final = ("site-packages" + os.sep, "dist-packages" + os.sep)


class _StderrPrinter:
    """Writes printed text to stderr, after one warning. Never blocks: the stderr log buffers it."""

    def __init__(self) -> None:
        self._has_warned = False

    def put(self, text: str) -> None:
        """Write a text. Call it from the method that the author's code calls."""
        if not self._has_warned:
            self._has_warned = True
            drain.put(
                "toolhaft: stdout belongs to the protocol, so what is printed goes to stderr; "
                f"first printed at {_place(sys._getframe(2))}\n"  # pyright: ignore[reportPrivateUsage]
            )
        drain.put(text)


def _place(frame: FrameType) -> str:
    """Return file and line of the innermost frame outside of the standard library."""
    each: FrameType | None = frame
    while each is not None and _is_stdlib(each.f_code.co_filename):
        each = each.f_back
    found = frame if each is None else each
    return f"{found.f_code.co_filename}:{found.f_lineno}"


def _is_stdlib(filename: str) -> bool:
    if filename.startswith("<frozen "):
        return True
    rest = filename.removeprefix(_LIBRARY)
    return rest != filename and not rest.startswith(_INSTALLED)


class _DivertedBuffer(io.BufferedIOBase):
    """Replacement for `sys.stdout.buffer`."""

    name = "<stdout>"
    mode = "wb"

    def __init__(self, printer: _StderrPrinter) -> None:
        self._printer = printer

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Write to stderr."""
        taken = bytes(data)
        self._printer.put(taken.decode("utf-8", "backslashreplace"))
        return len(taken)

    @property
    def raw(self) -> "_DivertedBuffer":
        """This object: it has no buffer."""
        return self

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of stdout, which leads to stderr as well."""
        return 1

    def close(self) -> None:
        """Do nothing: a temporary `TextIOWrapper` closes its buffer."""


class DivertedStdout(io.TextIOBase):
    """Replacement for `sys.stdout`: writes printed text to stderr, after one warning."""

    encoding = "utf-8"
    errors = "backslashreplace"
    newlines = None
    name = "<stdout>"
    mode = "w"
    line_buffering = True
    write_through = True

    def __init__(self) -> None:
        self._printer = _StderrPrinter()
        self._bytes = _DivertedBuffer(self._printer)

    def write(self, text: str, /) -> int:
        """Write to stderr."""
        self._printer.put(text)
        return len(text)

    def reconfigure(self, **_: object) -> None:
        """Ignore the options: stderr takes any text."""

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def close(self) -> None:
        """Do nothing."""

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of stdout, which leads to stderr as well."""
        return 1

    @property
    def buffer(self) -> io.BufferedIOBase:
        """The binary stream, for code that prints bytes."""
        return self._bytes

    def detach(self) -> io.BufferedIOBase:  # type: ignore[override]
        """Return the binary stream, for code that wraps it in another text stream."""
        return self._bytes


class Descriptors:
    """The private descriptors of stdin and stdout."""

    __slots__ = ("input", "output")

    def __init__(self, input_: int, output: int) -> None:
        self.input = input_
        self.output = output


_taken: Descriptors | None = None
# Whether the fork hook is registered.
_watched = False
# Whether this process is a fork of the server's process.
forked = False


def take() -> Descriptors:
    """Move stdin and stdout to private descriptors. Later calls return the same ones.

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
        sys.stdout = DivertedStdout()
        watch_forks()
    return _taken


def is_pipe(descriptor: int) -> bool:
    """Return whether a descriptor can be non-blocking without side effects. A terminal cannot: it
    shares its open file description with stderr.
    """
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def never_block(descriptor: int) -> None:
    """Make a descriptor non-blocking, if it is a pipe or a socket."""
    if is_pipe(descriptor):
        os.set_blocking(descriptor, False)


def give_back() -> None:
    """Move stdin and stdout back to descriptors 0 and 1."""
    global _taken
    if _taken is not None:
        os.dup2(_taken.input, 0)
        os.dup2(_taken.output, 1)
        os.close(_taken.input)
        os.close(_taken.output)
        _taken, sys.stdout = None, sys.__stdout__


def watch_forks() -> None:
    """Mark this process as the server; a process forked from it sets `forked`."""
    global _watched, forked
    forked = False
    if not _watched:
        _watched = True
        os.register_at_fork(after_in_child=_detach_child)


def _detach_child() -> None:
    """Keep a process that a tool has forked from reading and writing the private descriptors."""
    global forked
    forked = True
    if _taken is not None:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, _taken.input)
        os.dup2(null, _taken.output)
        os.close(null)
