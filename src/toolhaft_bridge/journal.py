"""A ledger in memory that a bridge shares with its process, so that it outlives the process.

A process that was passed the client's descriptors reads and writes them itself, and the bridge sees
none of the bytes. When the process ends, even by SIGKILL, the bridge needs the same ledger as if it
had copied them. So the process keeps the ledger here, and the bridge reads it afterwards:

    a word      the offset of the end of the records, and two bits: the inbox has been processed;
                the outbox may contain bytes that are not recorded
    an inbox    the last bytes read from the client. The kernel writes them here (`readv`), so that
                at every moment they are either in the pipe or visible to the bridge. A call that is
                answered before the next read needs no record
    two halves  records, one per line; a half begins with a snapshot of the ledger, and changes
                follow. When it is full, a new snapshot is written to the other half

Storing the word commits a change: records beyond its offset are ignored.

Output of the process goes through the outbox, a pipe whose other end the bridge has: bytes are
written there, recorded here, and then moved to the client by the kernel in one operation. The
bridge delivers what is left in the outbox when the process has ended. The bit in the word says
whether that is recorded already, so that it is counted exactly once. Whenever a process is killed,
each request gets a response or an error, and never both.

The records, by their first byte; `Journal` writes them, and `Restored` applies them:

    +id     a request                               =line   a line of the client to be parsed
    -id     its response                            &line   the response to `initialize`
    ~part   the start or a further part             !       the client's line is complete
            of a line of the client                 ^       it is too long to be kept
    >part   the start or a further part             <       the process's line is complete
            of a line of the process                <head   the only part of it that is kept
    .       the client has closed its side          ?       `opaque`: nothing is tracked
    *       `outgrown`: the session cannot be restored
"""

import os
import sys
from _thread import allocate_lock

from .ledger import EDGE, LONGEST, START, Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:  # not needed at runtime, and slow to import
    from collections.abc import Callable, Iterator
    from mmap import mmap
    from typing import ClassVar

_PAGE = 4096
_INBOX = _PAGE
_CHUNK = 65536
_INBOX_SIZE = LONGEST + _CHUNK
_HALVES = _INBOX + _INBOX_SIZE
# Bytes of one half. Pages that were never written to take no memory.
_HALF = 8 * 1024 * 1024
SIZE = _HALVES + 2 * _HALF
# Bytes of records after a snapshot before the next snapshot is written.
_GROWTH = 1024 * 1024
# Bytes of a half that is no longer used, above which its memory is released.
_LARGE = 256 * 1024
_MADV_REMOVE = 9
_CALL = b'"method":"tools/call"'
_RESULT = b'"result":'
# Bit of the word: the contents of the inbox are answered or recorded.
_INBOX_DONE = 1 << 62
# Bit of the word: bytes in the outbox, if there are any, are not recorded yet.
_OUTBOX_NEW = 1 << 61


def blank() -> int:
    """Create the shared memory of a journal and return its descriptor.

    Raises:
        OSError: this system has no memfd, or creating it failed.
    """
    if sys.platform != "linux" or not hasattr(os, "memfd_create"):
        raise OSError("there is no memory without a name here")
    descriptor = os.memfd_create("toolhaft-journal", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, SIZE)
    return descriptor


class Journal(Ledger):
    """The ledger of one client, which its process writes to shared memory. Thread-safe."""

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
        # Bytes in the inbox.
        self._count = 0
        # The bytes read last, while they are neither answered nor recorded.
        self._unrecorded = b""
        self._lock = allocate_lock()
        self._is_open = True
        self._half = 0
        self._end = _HALVES
        self._full = _HALVES + _GROWTH
        self._records: list[bytes] = []
        # A change has no record of its own, so the next commit writes a snapshot.
        self._must_turn = False
        # `_OUTBOX_NEW` or 0, as it is in the word.
        self._outbox_bit = 0
        # A call that is answered before the next read needs no record. True if `initialize` is
        # answered or was not sent, and no line is incomplete.
        self._may_skip = False

    def read(self, descriptor: int, _size: int) -> bytes:
        """Like `os.read`, but into the inbox, where the bridge can see the bytes."""
        with self._lock:
            behind = 0
            if self._unrecorded:
                if self._unrecorded[-1:] != b"\n" and self._count < LONGEST:
                    behind = self._count  # append, so that a long line stays contiguous
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
                count = 0  # the same as the end of the input
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
        """Like `os.write` into the outbox, which must be empty, and record the output.

        Raises:
            BlockingIOError: the outbox is full.
        """
        with self._lock:
            if self._is_open:
                self._outbox_bit = _OUTBOX_NEW
                self._word[0] |= _OUTBOX_NEW
            count = os.write(descriptor, data)
            self._record_output(bytes(data if count == len(data) else data[:count]))
        return count

    def _record_output(self, data: bytes) -> None:
        """Record bytes that were written to the outbox."""
        said = self._unrecorded
        if said and self._may_skip and len(said) == self._count:
            # Fast path for one tool call and its response, the most frequent case.
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
        """Write records for the contents of the inbox."""
        if self._unrecorded:
            self._unrecorded = b""
            if not self._is_long_call():
                self.sent(self._memory[_INBOX : _INBOX + self._count])
            self._commit()

    def _is_long_call(self) -> bool:
        """Add the id in the inbox if that is one long tool call, without a copy; else False."""
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
        """Record the inbox, and release the memory."""
        with self._lock:
            if self._is_open:
                self._record_inbox()
            self._is_open, self._unrecorded = False, b""
            self._word.release()
            self._inbox[0].release()
            self._whole.release()
            self._memory.close()

    def disown(self) -> None:
        """Stop writing in a forked child: the journal belongs to the parent."""
        self._lock = allocate_lock()  # another thread of the parent may have held the old one
        self._is_open, self._unrecorded = False, b""

    # Changes of the ledger, each with its record

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
        self._records[before:] = [
            b"=%b\n" % line
        ]  # replaces the records that follow from this line

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

    # Writing records

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
        """Write a snapshot to the other half; return offset and size of the old one in bytes.

        The size is rounded up to whole pages.
        """
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
    """A ledger that is restored from the records of a journal."""

    # The bytes left in the outbox are recorded already.
    knows_outbox = True

    def take(self, record: bytes) -> None:
        """Apply one record."""
        change = self._KINDS.get(record[:1])
        if change is not None:
            change(self, record[1:])

    def settle(self) -> None:
        """Set the derived state after the last record, as if the bytes had been processed."""
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
    """Restore the ledger of a process that has ended."""
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
    """Read the contents of the inbox; the bytes after them are zeros."""
    found = part = b""
    while len(found) < _INBOX_SIZE and len(part) % _CHUNK == 0:
        part = os.pread(descriptor, _CHUNK, _INBOX + len(found)).rstrip(b"\0")
        if not part:
            break
        found += part
    return found
