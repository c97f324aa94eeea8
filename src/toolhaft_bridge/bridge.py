"""Connects a client, on stdin and stdout, to an attached process.

If possible, the descriptors of stdin and stdout are passed to the process, which is then as fast
as a server on stdio. Otherwise bytes are copied (`byte_copy.py`): without shared memory, with a
traffic log, and to a process in which the session must be restored first.

Either way a `Ledger` tracks the unanswered requests. When the process ends, the bridge answers them
with an error. When a process of the same name attaches within the timeout, the bridge restores the
session there by repeating the handshake and its later settings, and the client can go on.
"""

import _socket
import os
import select
import time

from .journal import blank, restored
from .ledger import START, Ledger
from .socket_directory import (
    NotAttached,
    Refused,
    answer,
    attached_now,
    connect,
    hand,
    paths_of,
    read_line,
    say,
)
from .streams import IN, OUT, complain, hung_up, never_block

DONE = 0
WRONG = 2
LOST = 3
REFUSED = 4

_CHUNK = 65536
# Seconds to wait for a process to attach again, without `--wait`.
_RETURN = 10.0
# Seconds between attempts to connect, and between checks that the client is still there.
_OFTEN = 0.05
# Seconds that each socket operation may take while a session is restored.
_PATIENCE = 10.0
# Seconds without an answer after which a message on stderr says so.
_SLOW = 3.0


class Silent:
    """A traffic log that writes nothing."""

    def note(self, direction: str, data: bytes) -> None:
        """Do nothing."""

    def end(self, direction: str) -> None:
        """Do nothing."""

    def event(self, words: str) -> None:
        """Do nothing."""


class Bridge:
    """The connection of one client to a process of a given name or socket."""

    def __init__(
        self,
        *,
        name: str | None,
        path: str | None,
        wait: float | None,
        init: str | None,
        stop: str | None,
        traffic: Silent,
    ) -> None:
        self._name = name
        self._path = path
        self._wait = wait
        self._hooks = {"init": init, "stop": stop}
        self._traffic = traffic
        self._records = type(traffic) is not Silent
        self._ledger = Ledger()
        self._wire = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._welcome = b""
        # Descriptors of the journal and of the outbox, if the streams were passed to the process.
        self._journal: int | None = None
        self._outbox = -1
        self._can_hand = False
        # The outcome of the last attempt to connect.
        self._was_there = False
        self._why = ""
        self._client_ended = False
        self._nobody_reads = False
        # Then `poll` reports that it was closed, even with nothing to write.
        self._is_watched = False

    @property
    def _who(self) -> str:
        return f"'{self._name}'" if self._name is not None else f"at {self._path}"

    def run(self) -> int:
        """Run until the client or the process has ended; return the exit status."""
        try:
            is_pipe = never_block(IN)
            self._is_watched = never_block(OUT)
            self._can_hand = is_pipe and self._is_watched and not self._records
        except OSError:
            return _failed(
                WRONG, "stdin and stdout must be open: they are how a client talks to us"
            )
        try:
            if not self._connect(self._wait or 0.0):
                raise NotAttached(self._nobody())
            while True:
                if self._journal is None:
                    self._copy()
                else:
                    self._watch(self._journal)
                if self._nobody_reads or not self._resume():
                    break
        except Refused as error:
            return self._give_up(REFUSED, f"the process {self._who} refuses: {error}")
        except NotAttached as error:
            return self._give_up(WRONG, str(error))
        except _Lost as error:
            return self._give_up(LOST, str(error))
        except BrokenPipeError:
            pass  # the client has closed stdout, so no error can be sent
        return DONE

    # Serving

    def _watch(self, journal: int) -> None:
        """Wait until the process that has the client's streams has ended, or stdout is closed."""
        poll, process = select.poll(), self._wire.fileno()
        poll.register(process, select.POLLIN)
        poll.register(OUT, 0)
        ready = dict(poll.poll())
        if process not in ready:
            self._nobody_reads = True
            return
        self._ledger = ledger = restored(journal)
        self._client_ended = self._ledger.ended
        try:
            while left := os.read(self._outbox, _CHUNK):
                self._can_hand = False  # the process may have been unable to write to the client
                if not ledger.knows_outbox:
                    ledger.came(left)
                self._say(left)
        except BlockingIOError:
            pass  # the outbox is empty

    def _copy(self) -> None:
        """Copy until the process has ended, or stdout is closed."""
        from .byte_copy import Copying  # noqa: PLC0415

        copying = Copying(
            self._wire,
            self._ledger,
            self._traffic if self._records else None,
            is_watched=self._is_watched,
            client_ended=self._client_ended,
        )
        copying.run()
        self._client_ended, self._nobody_reads = copying.client_ended, copying.nobody_reads

    # The process

    def _connect(self, seconds: float) -> bool:
        """Try to connect for `seconds`; return whether that succeeded."""
        deadline = time.monotonic() + seconds
        while True:
            for path in [self._path or ""] if self._name is None else paths_of(self._name):
                if self._try(path):
                    return True
            left = deadline - time.monotonic()
            if left <= 0 or hung_up(min(_OFTEN, left)):
                return False

    def _try(self, path: str) -> bool:
        self._wire.close()
        self._was_there = False
        try:
            self._wire = connect(path)
            self._was_there = True
            self._ask()
            self._await_welcome()
            self._welcome = answer(self._wire)
        except OSError as error:  # the process has ended, or is not attached yet
            known = isinstance(error, FileNotFoundError | ConnectionError)
            self._why = "" if known else f": {error.strerror or error}"
            return False
        self._traffic.event(f"connected to {self._who}")
        self._wire.setblocking(False)
        if b'"taken":true' not in self._welcome:
            self._drop_journal()
        return True

    def _ask(self) -> None:
        """Request to be served, and pass the client's streams along if possible.

        Not if the bridge itself has to send something first: a session, or an incomplete line.
        """
        self._drop_journal()
        if self._can_hand and not self._ledger.session() and not self._ledger.unended:
            try:
                self._hand_over()
                return
            except ConnectionError:
                raise
            except OSError:  # no shared memory, no free descriptor, or passing them is not allowed
                self._can_hand = False
                self._drop_journal()
        say(self._wire, "serve", **self._hooks)

    def _hand_over(self) -> None:
        self._journal = blank()
        self._outbox, into = os.pipe()
        try:
            os.set_blocking(self._outbox, False)
            os.set_blocking(into, False)
            given = [IN, OUT, self._journal, self._outbox, into]
            hand(self._wire, given, "serve", **self._hooks)
        finally:
            os.close(into)

    def _drop_journal(self) -> None:
        if self._journal is not None:
            os.close(self._journal)
            self._journal = None
        if self._outbox >= 0:
            os.close(self._outbox)
            self._outbox = -1

    def _await_welcome(self) -> None:
        """Wait until the process answers, which it does after `init`.

        That may take long, so after `_SLOW` seconds a message on stderr says so.

        Raises:
            NotAttached: the client has closed its streams meanwhile.
        """
        poll = select.poll()
        poll.register(self._wire.fileno(), select.POLLIN)
        if poll.poll(_SLOW * 1000):
            return
        complain(f"the process {self._who} is there, but does not answer; waiting for it")
        if self._is_watched:
            poll.register(OUT, 0)
        while True:
            ready = dict(poll.poll(_OFTEN * 1000))
            if self._wire.fileno() in ready:
                return
            if ready or hung_up(0):
                raise NotAttached(f"the process {self._who} has not answered")

    def _nobody(self) -> str:
        seconds = f" within {self._wait:g} s" if self._wait else ""
        if self._was_there:
            return f"the process {self._who} hung up without an answer{seconds}; see its log"
        if self._name is None:
            return f"no process is attached at {self._path}{seconds}{self._why}"
        return f"no process named {self._name!r} is attached{seconds}; {attached_now()}"

    def _resume(self) -> bool:
        """Continue after the end of a process with the next one of its name; False if done.

        Raises:
            _Lost: requests were lost, or no such process has attached in time.
        """
        words = f"the process {self._who}{self._pid()} has ended"
        ledger = self._ledger
        self._traffic.end("out")
        self._traffic.event("done" if self._client_ended and not ledger.open else words)
        if ledger.in_answer:
            self._say(b"\n")  # ends the incomplete line of the process
        lost = ledger.forget()
        self._answer(lost, f"{words} before it answered")
        if self._client_ended:
            if lost:
                raise _Lost(words)
            return False
        if ledger.opaque or ledger.outgrown or ledger.unended is None:
            raise _Lost(words)
        wait = _RETURN if self._wait is None else self._wait
        if wait:
            during = f" during {len(lost)} call{'s' * (len(lost) > 1)}" if lost else ""
            complain(f"{words}{during}; waiting {wait:g} s for it to come back")
        if not wait or not self._connect(wait) or not self._begin_anew():
            raise _Lost(f"{words}, and has not come back" if wait else words)
        complain(f"the process {self._who}{self._pid()} is back")
        return True

    def _begin_anew(self) -> bool:
        """Restore the session in the new process; False if the connection failed."""
        ledger = self._ledger
        self._wire.settimeout(_PATIENCE)
        try:
            for id_, said in ledger.session():
                self._wire.sendall(said.rstrip(b"\n") + b"\n")
                line = b"" if id_ is None else self._answer_to(id_)
                if ledger.initialize is not None and id_ == ledger.initialize[0]:
                    self._check(line)
            if ledger.unended:
                self._wire.sendall(ledger.unended)
        except OSError:
            return False
        self._wire.setblocking(False)
        return True

    def _answer_to(self, id_: bytes) -> bytes:
        """Read the response with this id, and drop all other lines.

        The client has sent nothing to the new process yet.
        """
        while True:
            line = read_line(self._wire)
            if line.startswith(START + id_ + b","):
                return line

    def _check(self, greeting: bytes) -> None:
        """Compare the new `initialize` response, and notify the client that lists may have changed.

        Raises:
            _Lost: the revision differs, which the client cannot be notified of.
        """
        from .messages import promises  # noqa: PLC0415

        before, lists = promises(self._ledger.greeting or b"")
        now, _ = promises(greeting)
        if now != before:
            raise _Lost(
                f"the process {self._who} is back, and speaks revision {now} instead of {before}"
            )
        for name in lists:
            notice = f'{{"jsonrpc":"2.0","method":"notifications/{name}/list_changed"}}\n'
            self._say(notice.encode())

    def _pid(self) -> str:
        """Return the pid in the welcome, without importing json, which is slow."""
        _, _, rest = self._welcome.partition(b'"pid":')
        digits = rest.lstrip().split(b",")[0].split(b"}")[0].strip()
        return f" (pid {digits.decode()})" if digits.isdigit() else ""

    # The client

    def _answer(self, ids: list[bytes], words: str) -> None:
        """Answer requests with an internal error."""
        for id_ in ids:
            error = b'{"code":-32603,"message":%b}' % _quoted(words)
            self._say(b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (id_, error))

    def _say(self, data: bytes) -> None:
        """Write to the client, and wait while it does not read."""
        self._traffic.note("out", data)
        rest = memoryview(data)
        ready = select.poll()
        ready.register(OUT, select.POLLOUT)
        while rest:
            ready.poll()
            try:
                rest = rest[os.write(OUT, rest) :]
            except BlockingIOError:
                continue

    def _give_up(self, status: int, words: str) -> int:
        """Answer all requests with an error, also unread ones; return the exit status."""
        try:
            while not self._client_ended and select.select([IN], [], [], 0)[0]:
                data = os.read(IN, _CHUNK)
                self._client_ended = not data
                self._traffic.note("in", data)
                self._ledger.sent(data)
            self._ledger.end()
            self._answer(self._ledger.forget(), words)
        except OSError:
            pass  # the client has closed its streams
        self._traffic.event(words)
        return _failed(status, words)


class _Lost(Exception):
    """The process has ended, and the session cannot continue."""


def _quoted(words: str) -> bytes:
    from .messages import quoted  # noqa: PLC0415

    return quoted(words)


def _failed(status: int, words: str) -> int:
    """Write a message to stderr; return the status."""
    complain(words)
    return status
