"""A ledger in memory that a bridge shares with its process, so that it outlives the process.

A process that was handed the client's descriptors talks to the client itself, and the bridge sees
none of it. When the process ends, be it by SIGKILL, the bridge has to know what it would know if it
had copied. So the process keeps the ledger here, and the bridge reads it afterwards:

    a word      where the records end, and two bits: is what lies in the inbox done with, and does
                the outbox have something that is not recorded yet?
    an inbox    what was read from the client last: the system itself writes it here, so that there
                is no moment in which it is neither in the pipe nor known to the bridge. A call that
                is answered before the next word of the client needs no record at all
    two halves  records, one per line; a half begins with everything, and changes follow. When it is
                full, everything is written to the other half

Storing the word is what makes a change: records behind its end do not count.

What the process answers goes through an outbox, a pipe of which the bridge has the other end: it is
written there, recorded here, and then moved to the client by the system, which does it as a whole.
What is in the outbox when the process has ended is for the bridge to deliver. The word says whether
it is recorded already, for it must be counted, and must not be counted twice. So whenever a process
is killed, a request gets its answer or an error, and never both.

The records, by their first byte; `Journal` writes them, and `Restored` has what each of them does:

    +id     a request                               =line   a line that has to be understood
    -id     its answer                              &line   the answer to `initialize`
    ~part   the client has begun a line             !       it has ended it
            and goes on with it                     ^       it is too long to be kept
    >part   the process has begun a line            <       it has ended it
            and goes on with it                     <head   this is all that is kept of it
    .       the client has said all                 ?       nothing is known
    *       the session has outgrown what is kept
"""

import os
import sys
from _thread import allocate_lock

from .ledger import EDGE, LONGEST, START, Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:  # a bridge needs none of it, and it takes a while to load
    from collections.abc import Callable, Iterator
    from mmap import mmap
    from typing import ClassVar

_PAGE = 4096
_INBOX = _PAGE
_CHUNK = 65536
_INBOX_SIZE = LONGEST + _CHUNK
_HALVES = _INBOX + _INBOX_SIZE
# Pages that nobody has written to take no memory.
_HALF = 8 * 1024 * 1024
SIZE = _HALVES + 2 * _HALF
# So much is added to a half before everything is written anew.
_GROWTH = 1024 * 1024
# Memory of a half that was left is given back if it is more than this.
_LARGE = 256 * 1024
_MADV_REMOVE = 9
_CALL = b'"method":"tools/call"'
_RESULT = b'"result":'
# In the word: what lies in the inbox is answered, or recorded.
_INBOX_DONE = 1 << 62
# In the word: what is in the outbox, if there is something, is not recorded yet.
_OUTBOX_NEW = 1 << 61


def blank() -> int:
    """A descriptor of memory for a journal.

    Raises:
        OSError: there is none.
    """
    if sys.platform != "linux" or not hasattr(os, "memfd_create"):
        raise OSError("there is no memory without a name here")
    descriptor = os.memfd_create("toolhaft-journal", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, SIZE)
    return descriptor


class Journal(Ledger):
    """Kept by a process, of one client. Safe to use from any thread."""

    __slots__ = (
        "_count", "_end", "_full", "_half", "_inbox", "_is_open", "_lock", "_may_skip", "_memory",
        "_must_turn", "_outbox_bit", "_records", "_unrecorded", "_whole", "_word",
    )  # fmt: skip

    def __init__(self, memory: "mmap") -> None:
        super().__init__()
        self._memory = memory
        whole = self._whole = memoryview(memory)
        self._word = whole[:8].cast("Q")
        self._inbox = (whole[_INBOX : _INBOX + _CHUNK],)
        # How much lies there.
        self._count = 0
        # The last that was read of it, while it is neither answered nor recorded.
        self._unrecorded = b""
        self._lock = allocate_lock()
        self._is_open = True
        self._half = 0
        self._end = _HALVES
        self._full = _HALVES + _GROWTH
        self._records: list[bytes] = []
        # Has something changed for which there is no record, so that everything has to be written?
        self._must_turn = False
        # The bit of the word that says whether something in the outbox is not recorded yet.
        self._outbox_bit = 0
        # May a call that is answered at once go without a record? It may if a session has begun, or
        # none is needed, and no line is unended.
        self._may_skip = False

    def read(self, descriptor: int, _size: int) -> bytes:
        """The same as `os.read`, and known to the bridge."""
        with self._lock:
            behind = 0
            if self._unrecorded:
                if self._unrecorded[-1:] != b"\n" and self._count < LONGEST:
                    behind = self._count  # a long line stays in one piece
                else:
                    self._record_inbox()
            room = self._inbox
            if behind:
                room = (self._whole[_INBOX + behind : _INBOX + behind + _CHUNK],)
            else:
                self._memory[_INBOX : _INBOX + self._count] = bytes(self._count)
                self._count = 0
                self._word[0] = self._end | self._outbox_bit
            try:
                count = os.readv(descriptor, room)
            except BlockingIOError:
                raise
            except OSError:
                count = 0  # as good as the end
            if count:
                self._count = end = behind + count
                data = self._unrecorded = self._memory[_INBOX + behind : _INBOX + end]
                return data
            self._record_inbox()
            self.end()
            self._records.append(b".\n")
            self._commit()
        return b""

    def write(self, descriptor: int, data: "bytes | memoryview") -> int:
        """The same as `os.write` into the outbox, which is empty, and recorded.

        Raises:
            BlockingIOError: it takes nothing.
        """
        with self._lock:
            if self._is_open:
                self._outbox_bit = _OUTBOX_NEW
                self._word[0] |= _OUTBOX_NEW
            count = os.write(descriptor, data)
            self._record_output(bytes(data if count == len(data) else data[:count]))
        return count

    def _record_output(self, data: bytes) -> None:
        """This is in the outbox."""
        said = self._unrecorded
        if said and self._may_skip and len(said) == self._count:
            # One call of a tool, and its one answer? That is what is said most of the time.
            # Both begin with the id.
            end = data.find(b",", len(START)) + 1
            if (
                said.startswith(data[:end] + _CALL)
                and data.startswith(_RESULT, end)
                and said.find(b"\n") == len(said) - 1
                and data.find(b"\n") == len(data) - 1
            ):
                self._unrecorded, self._outbox_bit = b"", 0
                self._word[0] = self._end | _INBOX_DONE
                return
        if self._is_open:
            self._record_inbox()
            self.came(data)
            self._outbox_bit = 0
            self._commit()

    def _record_inbox(self) -> None:
        """Let the records say what the inbox does."""
        if self._unrecorded:
            self._unrecorded = b""
            if not self._is_long_call():
                self.sent(self._memory[_INBOX : _INBOX + self._count])
            self._commit()

    def _is_long_call(self) -> bool:
        """Is it one call of a tool, and so long that it should not be copied? Then it is open."""
        end = _INBOX + self._count
        if self._count <= _CHUNK or not self._may_skip:
            return False
        head = self._memory[_INBOX : _INBOX + EDGE]
        id_, mark, _ = head[len(START) :].partition(b"," + _CALL)
        if not head.startswith(START) or not mark or not id_.isdigit() or id_[:1] == b"0":
            return False
        if self._memory.find(b"\n", _INBOX, end) != end - 1:
            return False
        self._opened(id_)
        return True

    def close(self) -> None:
        """Note nothing more."""
        with self._lock:
            if self._is_open:
                self._record_inbox()
            self._is_open, self._unrecorded = False, b""
            self._word.release()
            self._inbox[0].release()
            self._whole.release()
            self._memory.close()

    def disown(self) -> None:
        """In a process that was forked off: the journal is the parent's."""
        self._lock = allocate_lock()  # which another thread of the parent may have held
        self._is_open, self._unrecorded = False, b""

    # What changes the books

    def _begin(self, data: bytes) -> None:
        super()._begin(data)
        self._must_turn = self._must_turn or self.opaque

    def _opened(self, id_: bytes) -> None:
        self.open[id_] = self.open.get(id_, 0) + 1
        self._records.append(b"+%b\n" % id_)

    def _close(self, id_: bytes) -> None:
        super()._close(id_)
        self._records.append(b"-%b\n" % id_)

    def _keep(self, part: bytes) -> None:
        was_kept = self.unended is not None
        super()._keep(part)
        if part and was_kept:
            self._records.append(b"^\n" if self.unended is None else b"~%b\n" % part)

    def _begin_line(self) -> None:
        super()._begin_line()
        self._records.append(b"!\n")

    def _sent_unusual(self, line: bytes) -> None:
        before = len(self._records)
        super()._sent_unusual(line)
        self._records[before:] = [b"=%b\n" % line]  # from which all the rest follows

    def _hold(self, part: bytes) -> None:
        before = len(self._head)
        super()._hold(part)
        grown = len(self._head) - before
        if grown > 0:
            self._records.append(b">%b\n" % part[:grown])
        elif grown < 0:
            self._records.append(b"<%b\n" % bytes(self._head))

    def _end_answer(self) -> None:
        super()._end_answer()
        self._records.append(b"<\n")

    def _greeted(self, id_: bytes, line: bytes) -> None:
        super()._greeted(id_, line)
        self._must_turn = True

    # Writing it down

    def _commit(self) -> None:
        records = b"".join(self._records)
        self._records.clear()
        left = None
        if self._must_turn or self._end + len(records) > self._full:
            left = self._turn()
        else:
            end = self._end + len(records)
            self._memory[self._end : end] = records
            self._end = end
        self._word[0] = self._end | _INBOX_DONE | self._outbox_bit
        self._may_skip = self._is_quick and not (self.unended or self._head)
        if left is not None and left[1] > _LARGE:
            self._memory.madvise(_MADV_REMOVE, *left)

    def _turn(self) -> tuple[int, int]:
        """Write everything to the other half. What was left: where it begins, and how long it is,
        in whole pages."""
        before = _HALVES + self._half * _HALF
        left = before, (self._end - before + _PAGE - 1) // _PAGE * _PAGE
        everything = b"\n".join([*self._everything(), b""])
        if len(everything) > _HALF - _GROWTH:
            self.opaque = True
            everything = b"?\n"
        self._half = 1 - self._half
        start = _HALVES + self._half * _HALF
        self._end = start + len(everything)
        self._full = self._end + _GROWTH
        self._memory[start : self._end] = everything
        self._must_turn = False
        return left

    def _everything(self) -> "Iterator[bytes]":
        if self.opaque:
            yield b"?"
        if self.outgrown:
            yield b"*"
        for request in (self.initialize, self._level, *self._subscriptions.values()):
            if request is not None:
                yield b"=" + request[1]
                yield b"-" + request[0]
        if self.greeting is not None:
            yield b"&" + self.greeting
        if self.initialized is not None:
            yield b"=" + self.initialized
        for id_, count in self.open.items():
            yield from [b"+" + id_] * count
        yield b"^" if self.unended is None else b"~" + self.unended
        yield b"<" + self._head
        if self.ended:
            yield b"."


class Restored(Ledger):
    """What a journal tells."""

    # Has it counted what is in the outbox?
    knows_outbox = True

    def take(self, record: bytes) -> None:
        """Change the books as a record says."""
        change = self._KINDS.get(record[:1])
        if change is not None:
            change(self, record[1:])

    def settle(self) -> None:
        """All records were taken: go on as if the bytes had been seen."""
        self._began = True
        self._is_quick = not self.opaque and (self.initialize is None or self.greeting is not None)

    def _grown(self, part: bytes) -> None:
        if self.unended is not None:
            self.unended += part

    def _too_long(self, _: bytes) -> None:
        self.unended = None

    def _new_line(self, _: bytes) -> None:
        self._begin_line()

    def _began_answer(self, head: bytes) -> None:
        self._end_answer()
        self._hold(head)

    def _said_all(self, _: bytes) -> None:
        self.ended = True

    def _unknown(self, _: bytes) -> None:
        self.opaque = True

    def _outgrown(self, _: bytes) -> None:
        self.outgrown = True

    _KINDS: "ClassVar[dict[bytes, Callable[[Restored, bytes], None]]]" = {  # noqa: RUF012
        b"+": Ledger._opened,
        b"-": Ledger._close,
        b"=": Ledger._sent_unusual,
        b"&": Ledger._came_line,
        b"~": _grown,
        b"^": _too_long,
        b"!": _new_line,
        b"<": _began_answer,
        b">": Ledger._hold,
        b".": _said_all,
        b"?": _unknown,
        b"*": _outgrown,
    }


def restored(descriptor: int) -> "Restored":
    """The ledger of a process that has ended."""
    ledger = Restored()
    word = int.from_bytes(os.pread(descriptor, 8, 0), sys.byteorder)
    end = word & ~(_INBOX_DONE | _OUTBOX_NEW)
    ledger.knows_outbox = not word & _OUTBOX_NEW
    start = _HALVES if end < _HALVES + _HALF else _HALVES + _HALF
    records = os.pread(descriptor, max(0, end - start), start).split(b"\n")[:-1]
    for record in records:
        ledger.take(record)
    if records:
        ledger.settle()
    if not word & _INBOX_DONE and (inbox := _inbox(descriptor)):
        ledger.sent(inbox)
    return ledger


def _inbox(descriptor: int) -> bytes:
    """What lies in the inbox; behind it there is nothing but zeros."""
    found = part = b""
    while len(found) < _INBOX_SIZE and len(part) % _CHUNK == 0:
        part = os.pread(descriptor, _CHUNK, _INBOX + len(found)).rstrip(b"\0")
        if not part:
            break
        found += part
    return found
