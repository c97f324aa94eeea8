"""Heads of HTTP requests that were parsed before.

The requests of one client differ in their bodies, and so in the length that the head tells of them;
those that come through a proxy also in their sessions. Whoever has parsed one head knows what
another one says that is the same, byte for byte, but for these two.
"""

import re
from typing import Final

from ...lazy_regex import pattern
from .headers import Head

_LONGEST: Final = 2000
# Of a value that changes, with the end of its line; what is longer is not known again.
_LONGEST_VALUE: Final = 130
_LENGTHS = pattern(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})\r\n", re.IGNORECASE)
_SESSIONS = pattern(rb"\r\nmcp-session-id:[ \t]*([!-~]{1,127})\r\n", re.IGNORECASE)


class Known:
    """A head, but for the length of the body and the session.

    Args:
        text: the head, all of it.
        head: what was found in it.
        length: the place of the body's length in the text.
        session: the place of the session's id, if there is one that may change.
    """

    __slots__ = (
        "_after",
        "_before",
        "_between",
        "_head",
        "_is_length_first",
        "_rest",
        "_session",
        "_size",
        "_text",
        "_until",
    )

    def __init__(
        self, text: bytes, head: Head, length: tuple[int, int], session: tuple[int, int] | None
    ) -> None:
        first, last = length, length
        if session is not None:
            first, last = sorted((length, session))
        # What is around the two; with one of them, there is nothing between.
        self._is_length_first = first == length
        self._before = text[: first[0]]
        self._between = text[first[1] : last[0]] if session is not None else b""
        self._after = text[last[1] :]
        self._session = session
        self._came(text, head)

    def _came(self, text: bytes, head: Head) -> None:
        """This came last: many requests are of the same length."""
        self._text = text
        self._head = head
        self._size = head.length
        if self._session is not None:
            # What is around the session: ids of ours are all of the same length, too.
            id_ = head.session or b""
            start = self._session[0]
            if self._is_length_first:
                start = len(text) - len(self._after) - len(id_)
            self._session = start, start + len(id_)
            self._until, self._rest = text[:start], text[start + len(id_) :]

    def request(self, data: bytes) -> tuple[Head, bytes] | None:
        """The head and the body of a request with this head, if that is just what it is. A session
        that is new may be any text, and is yet to be looked up."""
        text = self._text
        if data.startswith(text):
            head = self._head
        elif self._session is None:
            return self._another(data)
        else:
            start, end = self._session
            if not (data.startswith(self._until) and data.startswith(self._rest, end)):
                return self._another(data)
            head = self._head.with_session(data[start:end])
        body = data[len(text) :]
        return (head, body) if len(body) == self._size else None

    def _another(self, data: bytes) -> tuple[Head, bytes] | None:
        """One that differs in the length, too."""
        before, between, after = self._before, self._between, self._after
        if not data.startswith(before):
            return None
        start = len(before)
        end = data.find(b"\r\n", start, start + _LONGEST_VALUE)
        length, session = data[start:end], None
        if between:
            if not data.startswith(between, end):
                return None
            start = end + len(between)
            end = data.find(b"\r\n", start, start + _LONGEST_VALUE)
            session = data[start:end]
            if not self._is_length_first:
                length, session = session, length
        if not data.startswith(after, end) or not length.isdigit() or len(length) > 18:
            return None
        end += len(after)
        if len(data) - end != int(length):
            return None
        head = self._head.with_length(length, session)
        self._came(data[:end], head)
        return head, data[end:]


def known(data: bytes, head: Head) -> Known | None:
    """A head to know again, out of a whole request and what was found in it.

    Args:
        data: one request, and nothing else; its body has the length that the head tells.
        head: its headers.
    """
    end = data.find(b"\r\n\r\n", 0, _LONGEST) + 4
    lengths = [match.span(1) for match in _LENGTHS.finditer(data, 0, end)]
    sessions = [match.span(1) for match in _SESSIONS.finditer(data, 0, end)]
    # Whatever is said twice is for others to judge, each time.
    if head.repeated or len(lengths) != 1 or len(sessions) != (head.session is not None):
        return None
    # Without sessions nobody would look it up, and it could be any text.
    session = None if head.stateless or not sessions else sessions[0]
    return Known(data[:end], head, lengths[0], session)
