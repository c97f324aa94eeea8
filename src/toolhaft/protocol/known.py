"""Heads of HTTP requests that were parsed before.

The requests of one client differ in their bodies, and so in the length that the head tells of them.
Whoever has parsed one head knows what another one says that is the same, byte for byte, but for
that length.
"""

import re
from typing import Final

from msgspec import Struct

from ..patterns import pattern
from .head import Fields, Pairs

_LENGTH: Final = b"content-length"
_LONGEST: Final = 2000
_LENGTHS = pattern(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})\r\n", re.IGNORECASE)


class Known(Struct, frozen=True):
    """A head, but for the length of the body."""

    # What is around that length, to the end of the head.
    before: bytes
    after: bytes
    url: bytes
    fields: Pairs

    def request(self, data: bytes) -> tuple[bytes, bytes] | None:
        """The length, as it is told, and the body of a request with this head, if that is just
        what it is."""
        before, after = self.before, self.after
        if not data.startswith(before):
            return None
        start = len(before)
        end = data.find(b"\r\n", start, start + 20)
        length = data[start:end]
        if not length.isdigit() or not data.startswith(after, end):
            return None
        body = data[end + len(after) :]
        return None if len(body) != int(length) else (length, body)

    def with_length(self, length: bytes) -> Pairs:
        """The headers of a request with this head, whose body is so long."""
        return tuple((name, length if name == _LENGTH else value) for name, value in self.fields)


def known(data: bytes, url: bytes, fields: Fields) -> Known | None:
    """A head to know again, out of a whole request and what was found in it.

    Args:
        data: one request, and nothing else; its body has the length that the head tells.
        url: what stands in its first line.
        fields: its headers, with names in lower case.
    """
    end = data.find(b"\r\n\r\n", 0, _LONGEST) + 4
    lengths = list(_LENGTHS.finditer(data, 0, end))
    # Whatever is said twice is for others to judge, each time.
    if len(lengths) != 1 or sum(name == _LENGTH for name, _ in fields) != 1:
        return None
    first, last = lengths[0].span(1)
    return Known(data[:first], data[last:end], url, tuple(fields))
