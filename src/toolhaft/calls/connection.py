"""One client on a stream of frames: incoming frames become calls, and their answers frames.

Frames are received on the loop's thread, or on the thread of the watchdog
(`transports/stdio/watchdog.py`) while a tool blocks the loop.
"""

import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from msgspec import UnsetType

from ..encoding.envelope import Id, Outgoing, decode, failure, whole
from ..encoding.json_members import salvage_id
from ..errors import InternalError, McpError, ParseError
from ..protocol.calls import Answer, Batch, Cancel, Counter, Event, Notice, Reply
from ..protocol.framing import Frame, TooLong
from ..protocol.handshake import NEW
from ..protocol.peer import Peer, notice
from ..protocol.subscriptions import Change
from .call import RunningCall
from .driver import Driver
from .error_masking import Mask
from .output import Output
from .reply_channel import ReplyChannel


def count_event(event: Event, counter: Counter) -> None:
    """Count an event that is not a call; calls are counted when they end."""
    if isinstance(event, Reply):
        counter.refused(event.method)
    elif isinstance(event, Cancel):
        counter.noticed("notifications/cancelled")
    elif isinstance(event, Notice):
        counter.noticed(event.method)


class BatchChannel:
    """The reply channel of a batch: collects the answers, and sends them together."""

    __slots__ = ("_channel", "_frames", "_lock", "_open")

    def __init__(self, size: int, channel: ReplyChannel) -> None:
        self._open = size
        self._frames: list[bytes] = []
        self._channel = channel
        self._lock = threading.Lock()

    def send(self, frame: bytes) -> None:
        """Send a message before the answer, outside of the batch."""
        self._channel.send(frame)

    def answer(self, frame: Outgoing | None, error: McpError | None) -> None:
        """Add the answer of one message, if it has one; after the last, send the batch."""
        with self._lock:
            if frame is not None:
                self._frames.append(whole(frame))
            self._open -= 1
            if self._open:
                return
        self._channel.answer(b"[%b]" % b",".join(self._frames) if self._frames else None, None)

    @property
    def is_full(self) -> bool:
        """See `ReplyChannel`."""
        return self._channel.is_full

    def throttle(self) -> None:
        """See `ReplyChannel`."""
        self._channel.throttle()

    def drained(self) -> Awaitable[None]:
        """See `ReplyChannel`."""
        return self._channel.drained()

    def hang_up(self) -> None:
        """See `ReplyChannel`."""
        self._channel.hang_up()


class Connection:
    """One client, and the reply channel of its calls."""

    def __init__(
        self,
        peer: Peer,
        driver: Driver,
        output: Output,
        *,
        message_bytes: int,
        mask: Mask,
    ) -> None:
        self.peer = peer
        self.driver = driver
        self._message_bytes = message_bytes
        self._mask = mask
        self._output = output
        # Attributes for speed: they are used for each message.
        self.send = output.send
        self._send_pieces = output.send_pieces
        self.throttle = output.throttle
        self.drained = output.drained
        # Changes that the client has not been notified of.
        self._unsent_changes: set[Change] = set()
        # Called after each message that ends without an answer. From any thread.
        self.unanswered: Callable[[], object] | None = None

    # Incoming

    def receive(self, frame: Frame, principal: str | None = None) -> Event:
        """Decode a frame and start its calls. Never raises, never waits."""
        try:
            if type(frame) is bytes:
                event = self.peer.take(decode(frame), principal)
            else:
                event = self._too_long(frame)
            if type(event) is RunningCall:
                self.driver.start(event, self)
            else:
                self._handle(event, self)
        except Exception as error:
            event = self._send_internal_error(frame, error)
        return event

    def on_change(self, change: Change) -> None:
        """Notify the client of a change, if its session follows it. Thread-safe."""
        session = self.peer.session
        if session.state != NEW and session.interests.match(change):
            # Added before `is_ready` is checked: another thread may set it at the same time.
            self._unsent_changes.add(change)
            self._send_changes()

    def _send_changes(self) -> None:
        """Send the pending notifications, if the client has sent `initialized`. Thread-safe."""
        session = self.peer.session
        while session.is_ready and self._unsent_changes:
            with suppress(KeyError):  # another thread took it
                change = self._unsent_changes.pop()
                method, params = change.notification()
                frame = notice(method, params, session.caller.revision)
                self.driver.soon((self, change), partial(self.send, frame))

    def _send_internal_error(self, frame: Frame, error: Exception) -> Reply:
        """Log a bug in the library, and answer the client. The service goes on."""
        masked = InternalError(self._mask("a message", error))
        reply = Reply(failure(_id_in(frame), masked), masked)
        self.send(reply.frame)
        return reply

    def _too_long(self, frame: Frame) -> Reply:
        error = ParseError(f"message too long: at most {self._message_bytes} bytes are read")
        return Reply(failure(_id_in(frame), error), error)

    def _handle(self, event: Event, channel: ReplyChannel) -> None:
        count_event(event, self.driver.counter)
        match event:
            case RunningCall():
                self.driver.start(event, channel)
            case Reply():
                channel.answer(event.frame, event.error)
            case Cancel():
                self.driver.cancel(event.id)
                channel.answer(None, None)
            case Answer():
                self.driver.settle(self.peer.session, event)
                channel.answer(None, None)
            case Batch():
                batch = BatchChannel(len(event.events), self)
                for part in event.events:
                    self._handle(part, batch)
            case _:  # a notification
                self._send_changes()
                channel.answer(None, None)

    # Outgoing: `send`, `throttle` and `drained` are the transport's

    def answer(self, frame: Outgoing | None, error: McpError | None) -> None:
        """Send the answer of a call, if it has one."""
        if type(frame) is bytes:
            self.send(frame)
        elif type(frame) is tuple:
            self._send_pieces(frame)
        elif self.unanswered is not None:
            self.unanswered()

    @property
    def is_full(self) -> bool:
        """See `ReplyChannel`."""
        return self._output.is_full

    def hang_up(self) -> None:
        """Do nothing: a client cannot open a closed pipe again."""


def _id_in(frame: Frame) -> Id | UnsetType:
    if isinstance(frame, TooLong):
        return salvage_id(frame.head, frame.tail)
    return salvage_id(frame)
