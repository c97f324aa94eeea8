"""The way from a client, on stdin and stdout, into an attached process.

If it can be, stdin and stdout are handed over, so that the two speak without us and nothing is
slower than on stdio. Else bytes are copied (`copying.py`): where there is no shared memory, if a
record is wanted, and to a process that has to hear first how the session began.

Either way a `Ledger` knows which requests wait for an answer. When the process ends, these are
answered with an error, for nobody else will. When it is back within the time that we wait for it,
it is told how the session began, as if the client had come anew, and the client may not even
notice.
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
# How long a process that has ended may take to come back, unless the user says otherwise.
_RETURN = 10.0
_OFTEN = 0.05
# How long a process may take to begin a session that it knows from us.
_PATIENCE = 10.0
# After this time without an answer somebody should know.
_SLOW = 3.0


class Silent:
    """No record of the traffic."""

    def note(self, direction: str, data: bytes) -> None:
        """Nothing."""

    def end(self, direction: str) -> None:
        """Nothing."""

    def event(self, words: str) -> None:
        """Nothing."""


class Bridge:
    """The way of one client into a process."""

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
        # What the process knows of the client, if that was handed over, and what it has for it.
        self._journal: int | None = None
        self._outbox = -1
        self._can_hand = False
        # How the last attempt to reach it ended.
        self._was_there = False
        self._why = ""
        self._client_ended = False
        self._nobody_reads = False
        # Can it be told that nobody reads, before there is something to write?
        self._is_watched = False

    @property
    def _who(self) -> str:
        return f"'{self._name}'" if self._name is not None else f"at {self._path}"

    def run(self) -> int:
        """Until the client or the process has ended; the result is an exit status."""
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
            pass  # the client reads no more, so there is nobody to tell
        return DONE

    # The process speaks for itself

    def _watch(self, journal: int) -> None:
        """Wait until the process has ended, or nobody reads what it says."""
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
                self._can_hand = False  # it may not have been able to deliver that
                if not ledger.knows_outbox:
                    ledger.came(left)
                self._say(left)
        except BlockingIOError:
            pass  # that was all

    def _copy(self) -> None:
        """Copy until the process has ended, or nobody reads what it says."""
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
        """Look for the process for so long. Is it there?"""
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
        except OSError as error:  # nobody is there any more, or not yet
            known = isinstance(error, FileNotFoundError | ConnectionError)
            self._why = "" if known else f": {error.strerror or error}"
            return False
        self._traffic.event(f"connected to {self._who}")
        self._wire.setblocking(False)
        if b'"taken":true' not in self._welcome:
            self._drop_journal()
        return True

    def _ask(self) -> None:
        """Ask to be served, and hand over what the client speaks on, unless there is something
        that only we can say."""
        self._drop_journal()
        if self._can_hand and not self._ledger.session() and not self._ledger.unended:
            try:
                self._hand_over()
                return
            except ConnectionError:
                raise
            except OSError:  # there is no memory, no descriptor, or none may be given
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
        """Until the process says something, which it does when `init` is done. That may take long,
        but nobody waits for it without knowing, nor when the client has left.

        Raises:
            NotAttached: the client has.
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
        """The process has ended. Go on with the next one of its name, if that is wanted.

        Raises:
            _Lost: it is, and there is none.
        """
        words = f"the process {self._who}{self._pid()} has ended"
        ledger = self._ledger
        self._traffic.end("out")
        self._traffic.event("done" if self._client_ended and not ledger.open else words)
        if ledger.in_answer:
            self._say(b"\n")  # of what came there is half a line
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
        """Tell the new process what its predecessor knew. Does it know as much now?"""
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
        """What the process says to this. Whatever else it says so far is for nobody: the client has
        not asked it for anything yet."""
        while True:
            line = read_line(self._wire)
            if line.startswith(START + id_ + b","):
                return line

    def _check(self, greeting: bytes) -> None:
        """A client cannot be told of another revision; but that lists have changed, it can."""
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
        """Of the process, as its welcome says; json takes a while to load."""
        _, _, rest = self._welcome.partition(b'"pid":')
        digits = rest.lstrip().split(b",")[0].split(b"}")[0].strip()
        return f" (pid {digits.decode()})" if digits.isdigit() else ""

    # The client

    def _answer(self, ids: list[bytes], words: str) -> None:
        """Answer requests for which nobody else will."""
        for id_ in ids:
            error = b'{"code":-32603,"message":%b}' % _quoted(words)
            self._say(b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (id_, error))

    def _say(self, data: bytes) -> None:
        """Write to the client, however late it reads."""
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
        """Whoever has asked something meanwhile gets an answer, too. The result is the status."""
        try:
            while not self._client_ended and select.select([IN], [], [], 0)[0]:
                data = os.read(IN, _CHUNK)
                self._client_ended = not data
                self._traffic.note("in", data)
                self._ledger.sent(data)
            self._ledger.end()
            self._answer(self._ledger.forget(), words)
        except OSError:
            pass  # there is nobody to tell
        self._traffic.event(words)
        return _failed(status, words)


class _Lost(Exception):
    """The process has ended and is not there again."""


def _quoted(words: str) -> bytes:
    from .messages import quoted  # noqa: PLC0415

    return quoted(words)


def _failed(status: int, words: str) -> int:
    """Say why; the result is the status."""
    complain(words)
    return status
