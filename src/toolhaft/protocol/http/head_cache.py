"""Cache of parsed HTTP heads that were admitted, so that an equal head is not checked again."""

import contextlib
from collections.abc import Iterable
from typing import Final

from .headers import Fields, Head, Layout, Names, Pairs, Values

# Cached entries: pairs of Host and Origin, and tuples of checked header values.
_MOST_ADMITTED_VALUES: Final = 100
# Cached heads: bytes of one, and number of entries.
_LONGEST_CACHED_HEAD: Final = 1000
_MOST_CACHED_HEADS: Final = 200


class HeadCache:
    """Parsed heads that passed `OriginPolicy.refusal` and `unreadable`. Each endpoint owns one.

    A request with an equal head is admitted without these checks. Most have one, since the requests
    of one client differ in their bodies only.

    Args:
        most: length of the longest body, in bytes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # Admitted heads by all of their fields.
        self._heads: dict[Pairs, Head] = {}
        # Values of the headers that decide, see `Layout.judged`, of admitted heads.
        self._judged: set[Values] = set()
        # Indexes of the headers that matter, by the names of all headers; see `Head`.
        self._layouts: dict[Names, Layout] = {}
        # Fields and head of the last request that was found in the cache.
        self._last: tuple[Fields, Head] | None = None

    def meet(self, fields: Iterable[tuple[bytes, bytes]]) -> Head:
        """Return the head of a request, with `welcome` set if it is known to be admitted.

        Consecutive requests often have equal headers. Comparing the two lists takes less than half
        of the time of hashing a list that the server has just made."""
        last = self._last
        if last is not None and fields == last[0]:
            return last[1]
        all_of_it = tuple(fields)
        try:
            head = self._heads.get(all_of_it) if self._heads else None
        except TypeError:  # the server gives some pairs as lists, which have no hash
            head = None
        if head is None:
            return self._parse(all_of_it)
        self._last = (list(all_of_it), head)
        return head

    def _parse(self, fields: Pairs) -> Head:
        head = Head(fields, self._layouts)
        sent = head.sent
        if (
            head.layout.judged(sent) in self._judged
            and head.fits
            and not head.repeated
            and self._is_short(sent[head.layout.length])
        ):
            head.welcome = True
            if head.size <= _LONGEST_CACHED_HEAD and not head.layout.is_secret:
                self._cache(fields, head)
        return head

    def _is_short(self, length: bytes | None) -> bool:
        return (
            length is not None
            and length.isdigit()
            and len(length) < 19
            and int(length) <= self._most
        )

    def remember(self, head: Head) -> None:
        """Record that a request with this head was admitted."""
        # The answer to a browser's page has CORS headers, so such a request takes the full path.
        if b"origin" in head.raw or not self._is_short(head.sent[head.layout.length]):
            return
        judged: Values = head.layout.judged(head.sent)
        if sum(map(len, filter(None, judged))) <= _LONGEST_CACHED_HEAD:
            if len(self._judged) >= _MOST_ADMITTED_VALUES:
                self._judged.clear()
            self._judged.add(judged)

    def _cache(self, fields: Pairs, head: Head) -> None:
        # As tuples: a server that gives lists for pairs never compares equal.
        self._last = ([(name, value) for name, value in fields], head)
        if not head.stateless:  # the session id is a header: one entry per session
            return
        if len(self._heads) >= _MOST_CACHED_HEADS:
            self._heads.clear()  # active clients refill it soon
        with contextlib.suppress(TypeError):  # the server gives some pairs as lists
            self._heads[fields] = head
