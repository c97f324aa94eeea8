"""One client over a stream of frames: what it sends becomes calls, and their answers frames.

Frames are received on the loop's thread or, while that one is held up by a tool that blocks, on the
thread of the watch (`watch.py`).
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
from .call import Running
from .driver import Driver
from .error_masking import Mask
from .output import Outlet
from .reply_channel import Line


def counted(event: Event, counter: Counter) -> None:
    """Count what is no call; calls are counted when they end."""
    if isinstance(event, Reply):
        counter.refused(event.method)
    elif isinstance(event, Cancel):
        counter.noticed("notifications/cancelled")
    elif isinstance(event, Notice):
        counter.noticed(event.method)


class Array:
    """The line of a batch: collects the answers until the last is there."""

    __slots__ = ("_frames", "_line", "_lock", "_open")

    def __init__(self, size: int, line: Line) -> None:
        self._open = size
        self._frames: list[bytes] = []
        self._line = line
        self._lock = threading.Lock()

    def send(self, frame: bytes) -> None:
        """Messages on the way go out by themselves."""
        self._line.send(frame)

    def answer(self, frame: Outgoing | None, error: McpError | None) -> None:
        """One of the messages is done, with an answer or without."""
        with self._lock:
            if frame is not None:
                self._frames.append(whole(frame))
            self._open -= 1
            if self._open:
                return
        self._line.answer(b"[%b]" % b",".join(self._frames) if self._frames else None, None)

    @property
    def is_full(self) -> bool:
        """Does the client not read?"""
        return self._line.is_full

    def throttle(self) -> None:
        """As its connection does."""
        self._line.throttle()

    def drained(self) -> Awaitable[None]:
        """As its connection does."""
        return self._line.drained()

    def hang_up(self) -> None:
        """As its connection does."""
        self._line.hang_up()


class Connection:
    """One client, and the line of its calls."""

    def __init__(
        self,
        peer: Peer,
        driver: Driver,
        outlet: Outlet,
        *,
        message_bytes: int,
        mask: Mask,
    ) -> None:
        self.peer = peer
        self.driver = driver
        self._message_bytes = message_bytes
        self._mask = mask
        self._outlet = outlet
        # At hand, since they are needed each time.
        self.send = outlet.send
        self._send_pieces = outlet.send_pieces
        self.throttle = outlet.throttle
        self.drained = outlet.drained
        # What changed and was not told yet.
        self._news: set[Change] = set()
        # Told of each message that came to its end without an answer. From any thread.
        self.unanswered: Callable[[], object] | None = None

    # What comes in

    def receive(self, frame: Frame, principal: str | None = None) -> Event:
        """Understand a frame and do what it asks for. Never raises, never waits."""
        try:
            if type(frame) is bytes:
                event = self.peer.take(decode(frame), principal)
            else:
                event = self._too_long(frame)
            if type(event) is Running:
                self.driver.start(event, self)
            else:
                self._on(event, self)
        except Exception as error:
            event = self._broken(frame, error)
        return event

    def heard(self, change: Change) -> None:
        """Something changed that a session may follow. From any thread."""
        session = self.peer.session
        if session.state != NEW and session.interests.match(change):
            # Kept before it is looked whether it may be sent: the client may say so meanwhile.
            self._news.add(change)
            self._tell_news()

    def _tell_news(self) -> None:
        """Send what changed, once the client is ready to hear of it. From any thread."""
        session = self.peer.session
        while session.is_ready and self._news:
            with suppress(KeyError):  # another thread was quicker
                change = self._news.pop()
                method, params = change.notification()
                frame = notice(method, params, session.caller.revision)
                self.driver.soon((self, change), partial(self.send, frame))

    def _broken(self, frame: Frame, error: Exception) -> Reply:
        """A bug of ours must not end the service: it is told, and the client gets an answer."""
        told_to_client = InternalError(self._mask("a message", error))
        reply = Reply(failure(_id_in(frame), told_to_client), told_to_client)
        self.send(reply.frame)
        return reply

    def _too_long(self, frame: Frame) -> Reply:
        error = ParseError(f"message too long: at most {self._message_bytes} bytes are read")
        return Reply(failure(_id_in(frame), error), error)

    def _on(self, event: Event, line: Line) -> None:
        counted(event, self.driver.counter)
        match event:
            case Running():
                self.driver.start(event, line)
            case Reply():
                line.answer(event.frame, event.error)
            case Cancel():
                self.driver.cancel(event.id)
                line.answer(None, None)
            case Answer():
                self.driver.settle(self.peer.session, event)
                line.answer(None, None)
            case Batch():
                array = Array(len(event.events), self)
                for part in event.events:
                    self._on(part, array)
            case _:  # a notification
                self._tell_news()
                line.answer(None, None)

    # What goes out: `send`, `throttle` and `drained` are the transport's

    def answer(self, frame: Outgoing | None, error: McpError | None) -> None:
        """The end of a call."""
        if type(frame) is bytes:
            self.send(frame)
        elif type(frame) is tuple:
            self._send_pieces(frame)
        elif self.unanswered is not None:
            self.unanswered()

    @property
    def is_full(self) -> bool:
        """Does the client not read?"""
        return self._outlet.is_full

    def hang_up(self) -> None:
        """A pipe that is closed cannot be opened again, so it stays open."""


def _id_in(frame: Frame) -> Id | UnsetType:
    if isinstance(frame, TooLong):
        return salvage_id(frame.head, frame.tail)
    return salvage_id(frame)
