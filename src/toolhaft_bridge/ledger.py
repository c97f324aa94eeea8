"""Tracks which requests are unanswered, and what restores the session in a new process.

A bridge copies bytes, and avoids parsing them. Nearly all clients begin a request with
`{"jsonrpc":"2.0","id":…,` or end it with `,"jsonrpc":"2.0","id":…}`, and at these two places only
the id of the request can stand. Responses come from toolhaft, which writes the first form. Any
other line is parsed, once, if it is not too long.

A client that uses Content-Length headers sends no lines. Then nothing is tracked, and `opaque` is
True.
"""

START = b'{"jsonrpc":"2.0","id":'
_STARTED = len(START)
_NOTICE = b'{"jsonrpc":"2.0","method":'
_END = b',"jsonrpc":"2.0","id":'
_METHOD = b'{"method":"'
# Bytes at the start or end of a line that hold an id and the start of the method name.
EDGE = 128
# Bytes of a line that are kept. A longer line can be neither parsed nor sent again.
LONGEST = 4 * 1024 * 1024
# Methods whose effect is part of the session, so that a new process needs these requests, too.
_REMEMBERED = (
    b"initialize",
    b"logging/setLevel",
    b"resources/subscribe",
    b"resources/unsubscribe",
)

Line = bytes


class Ledger:
    """Unanswered requests and session state of one client."""

    # With those of `Journal` there are too many attributes for fast lookup in a dict of keys.
    __slots__ = (
        "_began", "_followed", "_head", "_is_enough", "_is_quick", "_level", "_subscriptions",
        "ended", "greeting", "initialize", "initialized", "opaque", "open", "outgrown", "unended",
    )  # fmt: skip

    def __init__(self) -> None:
        # Ids of unanswered requests, as written in JSON, and how many requests have each. A second
        # request with an id in use gets an error, and the first one still waits.
        self.open: dict[bytes, int] = {}
        self.opaque = False
        # The client has closed its side.
        self.ended = False
        # The incomplete line of the client; None if it is too long to be kept.
        self.unended: bytearray | None = bytearray()
        self._began = False
        # Responses of the usual form need only their id. False while `initialize` is unanswered.
        self._is_quick = False
        # The incomplete line of the process, or the part of its start that is needed.
        self._head = bytearray()
        self._is_enough = False
        # The `initialize` request with its id, and the `initialized` notification.
        self.initialize: tuple[bytes, Line] | None = None
        self.initialized: Line | None = None
        # The response to `initialize`.
        self.greeting: Line | None = None
        self._level: tuple[bytes, Line] | None = None
        self._subscriptions: dict[str, tuple[bytes, Line]] = {}
        # Total bytes of the requests in `_subscriptions`.
        self._followed = 0
        # The session has more state than is kept here, so it cannot be restored.
        self.outgrown = False

    # From the client

    def sent(self, data: bytes) -> None:
        """Process bytes from the client."""
        if self.opaque:
            return
        if not self._began:
            self._begin(data)
        if self.unended or self.unended is None or data[-1:] != b"\n":
            self._sent_parts(data)
            return
        for line in data.split(b"\n"):
            # Fast path for a tool call, the most frequent message.
            if line.startswith(START):
                id_, mark, _ = line[_STARTED:EDGE].partition(b',"method":"tools/call"')
                if mark and id_.isdigit() and id_[:1] != b"0":
                    self._opened(id_)
                    continue
            if line:
                self._sent_line(line)

    def end(self) -> None:
        """Process the end of the client's input; its last line may lack the newline."""
        self.ended = True
        if not self.opaque and self.unended:
            self._sent_line(bytes(self.unended))
            self._begin_line()

    def _opened(self, id_: bytes) -> None:
        self.open[id_] = self.open.get(id_, 0) + 1

    def _begin(self, data: bytes) -> None:
        start = data.lstrip()[:1]
        self.opaque = start in (b"C", b"c")
        self._began = bool(start)
        self._is_quick = self._began and not self.opaque

    def _sent_parts(self, data: bytes) -> None:
        *lines, last = data.split(b"\n")
        if lines:
            self._keep(lines[0])
            if self.unended is not None:
                self._sent_line(bytes(self.unended))
            self._begin_line()
            for line in lines[1:]:
                if line:
                    self._sent_line(line)
        self._keep(last)

    def _begin_line(self) -> None:
        self.unended = bytearray()

    def _keep(self, part: bytes) -> None:
        if self.unended is not None:
            self.unended += part
            if len(self.unended) > LONGEST:
                self._sent_head(bytes(self.unended[:EDGE]))
                self.unended = None

    def _sent_head(self, head: bytes) -> None:
        """Record the request in a line that is too long, if its head contains the id."""
        found = _id_at_start(head)
        if found is not None and found[0] and head.startswith(b',"method":', found[1]):
            self._opened(found[0])

    def _sent_line(self, line: Line) -> None:
        found = _request_of(line)
        if found is None:
            if line.strip():
                self._sent_unusual(line)
            return
        id_, method = found
        if not method.startswith(b"tools/call") and method.startswith(_REMEMBERED):
            self._sent_unusual(line)
        else:
            self._opened(id_)

    def _sent_unusual(self, line: Line) -> None:
        """Parse a line, and record its requests, session state and cancellations."""
        from .messages import compact, messages_of, params_of, written  # noqa: PLC0415

        # Of a batch, only the message that changes the session is sent to a new process.
        is_batch = line.lstrip()[:1] == b"["
        for message in messages_of(line):
            method, params = message.get("method"), params_of(message)
            id_ = written(message.get("id"))
            if id_ is not None and isinstance(method, str):
                self._opened(id_)
                said = compact(message) if is_batch else line
                self._remember(method, params.get("uri"), (id_, said))
            elif method == "notifications/cancelled":
                self._close(written(params.get("requestId")) or b"")
            elif method in ("notifications/initialized", "initialized"):
                self.initialized = compact(message) if is_batch else line

    def _remember(self, method: str, uri: object, request: tuple[bytes, Line]) -> None:
        if method == "initialize":
            self.initialize, self.greeting, self._is_quick = request, None, False
        elif method == "logging/setLevel":
            self._level = request
        elif method == "resources/subscribe" and isinstance(uri, str):
            self._follow(uri, request)
        elif method == "resources/unsubscribe" and isinstance(uri, str):
            self._unfollow(uri)

    def _follow(self, uri: str, request: tuple[bytes, Line]) -> None:
        self._unfollow(uri)
        self._subscriptions[uri] = request
        self._followed += len(request[1])
        if self._followed > LONGEST:
            self._subscriptions.clear()
            self._followed, self.outgrown = 0, True

    def _unfollow(self, uri: str) -> None:
        _, said = self._subscriptions.pop(uri, (b"", b""))
        self._followed -= len(said)

    # From the process

    @property
    def in_answer(self) -> bool:
        """Whether the process has written an incomplete line."""
        return bool(self._head)

    def came(self, data: bytes) -> None:
        """Process bytes from the process."""
        if self.opaque:
            return
        if self._is_enough and b"\n" not in data:
            return  # the middle of a long line
        lines = data.split(b"\n")
        last = lines.pop()
        if lines and self._head:
            lines[0] = bytes(self._head) + lines[0]
            self._end_answer()
        for line in lines:
            if self._is_quick and line.startswith(START):
                id_, mark, _ = line[_STARTED:EDGE].partition(b',"result":')
                if mark and id_.isdigit():
                    self._close(id_)
                    continue
            self._came_line(line)
        if last:
            self._hold(last)

    def _hold(self, part: bytes) -> None:
        """Add to the incomplete line of the process; keep only a prefix once that is sufficient."""
        head = self._head
        head += part
        enough = self._enough_of(head)
        if enough is None and len(head) > LONGEST:
            enough = EDGE  # too long to be parsed
        if enough is not None:
            del head[enough:]
            self._is_enough = True

    def _end_answer(self) -> None:
        self._head, self._is_enough = bytearray(), False

    def _close(self, id_: bytes) -> None:
        count = self.open.pop(id_, 0)
        if count > 1:
            self.open[id_] = count - 1

    def _enough_of(self, line: bytes | bytearray) -> int | None:
        """Return how many bytes of a line suffice to process it.

        None if it is still too short, and for the response to `initialize`, which is kept to
        compare it with that of a new process.
        """
        found = _id_at_start(line)
        if found is None:
            return EDGE if line.startswith(_NOTICE) else None
        id_, end = found
        if self.greeting is None and self.initialize is not None and id_ == self.initialize[0]:
            return None
        return end + EDGE

    def _came_line(self, line: Line) -> None:
        found = _id_at_start(line)
        if found is not None:
            id_, end = found
            if not line.startswith(b',"method"', end):
                self._close(id_)
                if self.greeting is None and self.initialize is not None:
                    self._greeted(id_, line)
        elif not line.startswith(_NOTICE) and line.strip():
            self._came_unusual(line)

    def _greeted(self, id_: bytes, line: Line) -> None:
        if self.initialize is not None and id_ == self.initialize[0]:
            self.greeting = line
            self._is_quick = True

    def _came_unusual(self, line: Line) -> None:
        from .messages import messages_of, written  # noqa: PLC0415

        for message in messages_of(line):
            if "method" not in message:
                self._close(written(message.get("id")) or b"")

    # After the end of a process

    def forget(self) -> list[bytes]:
        """Remove and return the ids of unanswered requests, after the process has ended."""
        lost, self.open = list(self.open), {}
        self._end_answer()
        return lost

    def session(self) -> list[tuple[bytes | None, Line]]:
        """Return the lines that restore the session in a new process, each with its request id.

        The id is None for a notification. The responses are not for the client.
        """
        if self.initialize is None or self.greeting is None:
            return []
        told: list[tuple[bytes | None, Line]] = [self.initialize]
        if self.initialized is not None:
            told.append((None, self.initialized))
        if self._level is not None:
            told.append(self._level)
        return [*told, *self._subscriptions.values()]


def _request_of(line: Line) -> tuple[bytes, bytes] | None:
    """Return the id and the start of the method of a request, if its line has a usual form."""
    if line.startswith(START):
        id_, comma, rest = line[_STARTED:EDGE].partition(b",")
        if comma and rest.startswith(b'"method":"') and _is_plain(id_):
            return id_, rest[10:]
    elif line.startswith(_METHOD):
        _, mark, rest = line[-EDGE:].rpartition(_END)
        id_, brace, nothing = rest.strip().partition(b"}")
        if mark and brace and not nothing and _is_plain(id_):
            return id_, line[len(_METHOD) : EDGE]
    return None


def _id_at_start(line: bytes | bytearray) -> tuple[bytes, int] | None:
    """Return the id of a message that begins as toolhaft writes it, and its end; see `id_at`."""
    if not line.startswith(START):
        return None
    id_, comma, _ = bytes(line[_STARTED:EDGE]).partition(b",")
    if comma and _is_plain(id_):
        return id_, _STARTED + len(id_)
    from .messages import id_at  # noqa: PLC0415

    return id_at(bytes(line), _STARTED)


def _is_plain(id_: bytes) -> bool:
    """Whether an id has only one form in JSON, so that its bytes can be compared."""
    if id_.isdigit():
        return id_ == b"0" or id_[:1] != b"0"
    inner = id_[1:-1]
    return (
        id_[:1] == b'"' == id_[-1:] and inner.isascii() and inner.translate(None, b"-_").isalnum()
    )
