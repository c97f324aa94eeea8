"""The ordered store behind every list: stable pages, and one place that knows of changes."""

import threading
from collections.abc import Callable, Iterator, Sized
from typing import Generic, TypeVar

from msgspec import UNSET

from ..errors import InvalidParams, MethodNotFound, shown
from ..jsonrpc import encode
from ..patterns import pattern
from ..protocol.calls import Exchange
from ..protocol.lowering import lowered
from ..protocol.revisions import Revision
from ..types.wire import PagedResult

T = TypeVar("T")

# Encoded pages kept per list: every revision's first pages, with room to spare.
_KEPT_PAGES = 64
_NAMED = 10
_CURSOR = pattern(r"(?P<what>[a-z]+)-(?P<ordinal>[0-9a-f]{1,16})")


def require(collection: Sized, what: str) -> None:
    """A method of a capability that is not offered does not exist.

    Raises:
        MethodNotFound: there is nothing of this kind.
    """
    if not len(collection):
        raise MethodNotFound(f"this server offers no {what}")


class Registry(Generic[T]):
    """Things by name, in the order of their registration."""

    def __init__(self, what: str, page_size: int | None, changed: Callable[[], None]) -> None:
        self._what = what
        self._page_size = page_size
        self._changed = changed
        self._lock = threading.Lock()
        # Each item with its ordinal, which is never given twice and is what a cursor holds.
        self._items: dict[str, tuple[int, T]] = {}
        self._ordinal = 0
        self._pages: dict[tuple[str, str | None], bytes] = {}
        self._version = 0

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter([item for _, item in list(self._items.values())])

    def get(self, name: str) -> T | None:
        """The thing of this name."""
        found = self._items.get(name)
        return None if found is None else found[1]

    def add(self, name: str, item: T, *, replace: bool = False) -> None:
        """Put it at the end, or in the place of the one it replaces.

        Raises:
            ValueError: the name is taken.
        """
        with self._lock:
            taken = self._items.get(name)
            if taken is not None and not replace:
                raise ValueError(
                    f"there is a {self._what} {name!r} already; give this one another name, or "
                    "pass replace=True to replace it"
                )
            if taken is None:
                self._ordinal += 1
            self._items[name] = (self._ordinal if taken is None else taken[0], item)
            self._forget_pages()
        self._changed()

    def some_names(self) -> str:
        """The first few names, for a message to somebody who knows none of them."""
        names = list(self._items)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return ", ".join(names[:_NAMED]) + more

    def remove(self, name: str) -> None:
        """Take it away.

        Raises:
            KeyError: there is none of this name.
        """
        with self._lock:
            if name not in self._items:
                raise KeyError(f"there is no {self._what} named {name!r}")
            del self._items[name]
            self._forget_pages()
        self._changed()

    def page(self, call: Exchange, build: Callable[[list[T], Revision], PagedResult]) -> bytes:
        """One page of the list, encoded for the caller, and kept until something changes."""
        revision = call.caller.revision
        cursor: str | None = None if call.params.cursor is UNSET else call.params.cursor
        key = (revision.date, cursor)
        page = self._pages.get(key)
        if page is None:
            version = self._version
            items, after = self._slice(cursor)
            result = build(items, revision)
            if after is not None:
                result.next_cursor = after
            page = encode(lowered(result, revision))
            with self._lock:
                if version == self._version and len(self._pages) < _KEPT_PAGES:
                    self._pages[key] = page
        return page

    def _forget_pages(self) -> None:
        self._version += 1
        self._pages.clear()

    def _slice(self, cursor: str | None) -> tuple[list[T], str | None]:
        entries = list(self._items.values())
        if cursor is not None:
            last = self._read_cursor(cursor)
            entries = [entry for entry in entries if entry[0] > last]
        if self._page_size is None or len(entries) <= self._page_size:
            return [item for _, item in entries], None
        entries = entries[: self._page_size]
        return [item for _, item in entries], f"{self._what}-{entries[-1][0]:x}"

    def _read_cursor(self, cursor: str) -> int:
        """The ordinal after which the next page begins. Nothing is remembered of pages given."""
        given = _CURSOR.fullmatch(cursor)
        if given is not None and given["what"] == self._what:
            ordinal = int(given["ordinal"], 16)
            if 0 < ordinal <= self._ordinal:
                return ordinal
        raise InvalidParams(
            f"params.cursor: {shown(cursor)} is not a cursor of this list; pass `nextCursor` as it "
            "was given, or leave it out to begin"
        )
