"""Standard input and output, taken away from everybody but the protocol.

One stray `print` on stdout breaks a client. So before any code of the author runs, the two
descriptors are moved to private ones: what reads input then finds none, and what writes output,
child processes included, writes to stderr.
"""

import io
import os
import stat
import sys

from .stderr import drain


class Diverted(io.TextIOBase):
    """Stands in for `sys.stdout`: sends what is printed to stderr, and says so once."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._said = False

    def write(self, text: str, /) -> int:
        """Write to stderr. Never waits: a client need not read it."""
        if not self._said:
            self._said = True
            frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
            drain.put(
                "toolhaft: stdout belongs to the protocol, so what is printed goes to stderr; "
                f"first printed at {frame.f_code.co_filename}:{frame.f_lineno}\n"
            )
        drain.put(text)
        return len(text)

    def flush(self) -> None:
        """Nothing is held back here."""

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """The descriptor, which leads to stderr too."""
        return 1

    @property
    def buffer(self) -> io.BufferedIOBase:
        """For those who print bytes."""
        return sys.stderr.buffer  # type: ignore[return-value]


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
