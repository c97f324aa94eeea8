"""The registry behind every list: pages with stable cursors, and change notification.

Registered items are static, and their pages are cached as bytes. Sources are evaluated for each
request; their items follow the static ones.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from msgspec import UNSET, structs

from ...encoding.envelope import encode
from ...errors import InvalidParams, MethodNotFound, shown
from ...lazy_regex import pattern
from ...protocol.calls import Exchange, Outcome, Result
from ...protocol.lowering import lowered
from ...protocol.revisions import Revision
from ...types.wire import PagedResult
from .slots import Follower, Slot

T = TypeVar("T")
C = TypeVar("C", covariant=True)

# Encoded pages cached per list: every revision's first pages, with room to spare.
_KEPT_PAGES = 64
# Names listed in an error message.
_NAMED = 10
# A position in a list: the ordinal of the last static item or, if that is 0, the index (from 1) of
# the next item of the sources.
_CURSOR = pattern(r"(?P<what>[a-z]+)-(?P<ordinal>[0-9a-f]{1,16})(?:-(?P<place>[0-9a-f]{1,8}))?")


def require(collection: object, what: str) -> None:
    """Check that a capability is offered.

    Raises:
        MethodNotFound: it is not offered, so its methods do not exist.
    """
    if not collection:
        raise MethodNotFound(f"this server offers no {what}")


class Source(Protocol[C]):
    """A source of items that is evaluated for each request."""

    @property
    def active(self) -> bool:
        """Whether it can have items."""
        ...

    @property
    def private(self) -> bool:
        """Whether its items may differ between callers."""
        ...

    async def list(self, exchange: Exchange, /) -> Mapping[str, C]:
        """Return the current items by name."""
        ...

    async def find(self, exchange: Exchange, name: str, /) -> C | None:
        """Return the current item of this name, if there is one."""
        ...


class Registry(Generic[T]):
    """Items by name, in the order of their registration."""

    def __init__(
        self,
        what: str,
        page_size: int | None,
        changed: Callable[[], None],
        lock: Any = None,
        vet: Callable[[str], object] = str,
    ) -> None:
        self._what = what
        self._page_size = page_size
        self._changed = changed
        # Warns of prefixed names that some clients refuse.
        self.vet = vet
        # Shared by the registries of a server, so that several additions appear at the same time.
        self._lock: Any = threading.RLock() if lock is None else lock
        # Visible items, in their order.
        self.seen: dict[str, Slot[T]] = {}
        # Items disabled here or in the included server: not visible, but their names are taken.
        self._hidden: dict[str, Slot[T]] = {}
        # Links to registries that mirror this one, and links that mirror other registries here.
        self.followers: list[Follower[T]] = []
        self.mirrors: list[Follower[T]] = []
        # Replaced as a whole, never altered.
        self.sources: tuple[Source[T], ...] = ()
        self._ordinal = 0
        self._registration_id = 0
        # Encoded pages by revision, by cursor if there is one, and with True for a principal.
        self._pages: dict[str | tuple[str, str | None] | tuple[str, str | None, bool], bytes] = {}
        self._version = 0
        # Set with the first item or source, and never cleared: a client that saw the capability
        # gets an empty list afterwards, not MethodNotFound.
        self._was_offered = False

    def __len__(self) -> int:
        return len(self.seen)

    def __bool__(self) -> bool:
        """Whether this list is offered: it has, or once had, an item or an active source."""
        return self._was_offered or self._has_any()

    def _has_any(self) -> bool:
        return bool(self.seen or self._hidden or self.is_evaluated)

    @property
    def is_evaluated(self) -> bool:
        """Whether the list has an active source."""
        return any(source.active for source in self.sources)

    def __iter__(self) -> Iterator[T]:
        return iter([slot.item for slot in list(self.seen.values())])

    def get(self, name: str) -> T | None:
        """Return the visible item of this name."""
        found = self.seen.get(name)
        return None if found is None else found.item

    def add(self, name: str, item: T, *, replace: bool = False) -> int:
        """Append an item, or replace the one of its name in place; return its registration ID.

        Raises:
            ValueError: the name is taken.
        """
        with self._lock:
            if not replace:
                self.check_free(name)
            self.check_followers(name)
            if self.is_taken(name):
                for mirror in self.mirrors:
                    mirror.release(name)
            self._registration_id += 1
            registration_id = self._registration_id
            self._store_item(name, item, registration_id)
        self._changed()
        return registration_id

    def share(self, name: str, item: T, is_same: Callable[[T], bool]) -> int:
        """Append a shared item, or add a share to the one that is there; return a registration ID.
        The item stays until every share is removed.

        Args:
            is_same: whether a registered item is the one to share.

        Raises:
            ValueError: the name is taken by another item, or by one that is not shared.
        """
        with self._lock:
            self.check_sharable(name, is_same)
            slot = self.found(name)
            if slot is None:
                self.add(name, item)
                slot = self._slot(name)
                registration_id = slot.registration_id
            else:
                self._registration_id += 1
                registration_id = self._registration_id
            self._store(name, structs.replace(slot, sharers=slot.sharers | {registration_id}))
        return registration_id

    def check_sharable(self, name: str, is_same: Callable[[T], bool]) -> None:
        """Check that an item can be shared under this name.

        Raises:
            ValueError: the name is taken by another item, or by one that is not shared.
        """
        slot = self.found(name)
        if slot is None:
            return
        if not slot.sharers:
            raise ValueError(
                f"there is a {self._what} {name!r} already, which is not shared; pass shared=True "
                "to both registrations, or give this one another name"
            )
        if not is_same(slot.item):
            raise ValueError(
                f"the {self._what} {name!r} is shared, and is of another function; give this one "
                "another name"
            )

    def check_free(self, name: str) -> None:
        """Check that no item has this name.

        Raises:
            ValueError: the name is taken.
        """
        if self.is_taken(name):
            slot = self.found(name)
            shared = ", which is shared; pass shared=True here as well, or"
            raise ValueError(
                f"there is a {self._what} {name!r} already"
                f"{shared if slot is not None and slot.sharers else ';'} give this one another "
                "name, or pass replace=True to replace it"
            )

    def check_followers(self, name: str) -> None:
        """Check that the registries that mirror this one can take this name.

        Raises:
            ValueError: the name is taken in one of them.
        """
        for follower in self.followers:
            follower.check(name)

    def _store_item(self, name: str, item: T, registration_id: int) -> None:
        taken = self.found(name)
        if taken is None:
            self._ordinal += 1
        ordinal = self._ordinal if taken is None else taken.ordinal
        self._store(name, Slot(ordinal, registration_id, item))

    def _store(self, name: str, slot: Slot[T]) -> None:
        """Store a slot among the visible or the hidden ones. Called with the lock held."""
        seen, hidden = self.seen, self._hidden
        slots, others = (seen, hidden) if slot.is_seen else (hidden, seen)
        slots[name] = slot
        if others.pop(name, None) is not None and slot.is_seen:
            self._sort_seen()
        self._after_change(name)

    def found(self, name: str) -> Slot[T] | None:
        """Return the slot of this name, visible or hidden."""
        return self.seen.get(name) or self._hidden.get(name)

    def names(self) -> list[str]:
        """Return all names in order, with those of disabled items."""
        with self._lock:
            return sorted([*self.seen, *self._hidden], key=lambda name: self._slot(name).ordinal)

    def some_names(self) -> str:
        """Return the first few names, for an error message about an unknown name."""
        names = list(self.seen)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return ", ".join(names[:_NAMED]) + more

    def registration_id(self, name: str) -> int:
        """Return the registration ID of the item of this name.

        Raises:
            KeyError: no item has this name.
        """
        return self._slot(name).registration_id

    def is_enabled(self, name: str, registration_id: int) -> bool:
        """Whether clients see the item.

        Raises:
            KeyError: it was removed or replaced.
        """
        return self._slot(name, registration_id).is_seen

    def item(self, name: str, registration_id: int) -> T:
        """Return the item, visible or hidden.

        Raises:
            KeyError: it was removed or replaced.
        """
        return self._slot(name, registration_id).item

    def change(self, name: str, registration_id: int, alter: Callable[[T], T]) -> None:
        """Replace an item by a changed copy, in place; if it is disabled, it stays so.

        Args:
            alter: makes the copy. Called with the lock held, so that no concurrent change is lost.

        Raises:
            KeyError: it was removed or replaced.
        """
        with self._lock:
            slot = self._slot(name, registration_id)
            self._store(name, structs.replace(slot, item=alter(slot.item)))
        self._changed()

    def hide(self, name: str, registration_id: int) -> None:
        """Disable an item: clients do not see it, and its position is kept.

        Raises:
            KeyError: it was removed or replaced.
        """
        with self._lock:
            slot = self._slot(name, registration_id)
            if slot.is_disabled:
                return
            self._store(name, structs.replace(slot, is_disabled=True))
        self._changed()

    def show(self, name: str, registration_id: int) -> None:
        """Enable an item at its position. A mirrored one has to be enabled in its own server, too.

        Raises:
            KeyError: it was removed or replaced.
        """
        with self._lock:
            slot = self._slot(name, registration_id)
            if not slot.is_disabled:
                return
            self._store(name, structs.replace(slot, is_disabled=False))
        self._changed()

    def remove(self, name: str, registration_id: int | None = None) -> None:
        """Remove an item, or one share of it if it is shared.

        Raises:
            KeyError: no item has this name, or this registration ID.
            ValueError: it belongs to an included server.
        """
        with self._lock:
            slot = self._slot(name, registration_id)
            rest = slot.without(
                slot.registration_id if registration_id is None else registration_id
            )
            if rest is not None:
                self._store(name, rest)
                return
            if any(mirror.has(name) for mirror in self.mirrors):
                raise ValueError(
                    f"the {self._what} {name!r} is of an included server; remove it there, or "
                    "disable it here"
                )
            self.seen.pop(name, None)
            self._hidden.pop(name, None)
            self._after_change(name)
        self._changed()

    def discard(self, name: str, registration_id: int) -> None:
        """Remove an item, unless it was removed or replaced already."""
        with self._lock:
            found = self.found(name)
            if found is not None and found.is_held_by(registration_id):
                self.remove(name, registration_id)

    def add_source(self, source: Source[T]) -> None:
        """Add a source behind the others."""
        with self._lock:
            self.sources = (*self.sources, source)
            self.forget_pages()
        self._changed()

    def remove_source(self, source: Source[T]) -> None:
        """Remove a source."""
        with self._lock:
            self.sources = tuple(each for each in self.sources if each is not source)
            self.forget_pages()
        self._changed()

    async def find(self, exchange: Exchange, name: str) -> T | None:
        """Return the current item of this name from the first source that has it."""
        if self.is_taken(name):  # by a disabled item
            return None
        for source in self.sources:
            if source.active and (found := await source.find(exchange, name)) is not None:
                return found
        return None

    def _slot(self, name: str, registration_id: int | None = None) -> Slot[T]:
        found = self.found(name)
        if found is None or not (registration_id is None or found.is_held_by(registration_id)):
            gone = "" if registration_id is None else " any more: it was removed"
            if found is not None:
                gone += " or replaced"
            raise KeyError(f"there is no {self._what} named {name!r}{gone}")
        return found

    def _sort_seen(self) -> None:
        self.seen = dict(sorted(self.seen.items(), key=lambda entry: entry[1].ordinal))

    def page(self, call: Exchange, build: Callable[[list[T], Revision], PagedResult]) -> Outcome:
        """Return one page of the list, encoded for the caller, and cache it until a change."""
        caller = call.caller
        revision = caller.revision
        cursor: str | None = None if call.params.cursor is UNSET else call.params.cursor
        key: Any = (
            revision.date if cursor is None else (revision.date, cursor)
        )  # a str in the most common case
        if caller.principal is not None:
            key = (revision.date, cursor, True)
        page = self._pages.get(key)
        if page is None:
            # Read before the items, so that a page of a concurrent change is not cached.
            version = self._version
            if self.sources and self.is_evaluated:
                return self._page_with_sources(call, cursor, build)
            items, after = self._slice(cursor)
            result = build(items, revision)
            if caller.principal is not None:
                # Behind a guard: "public" would let a cache serve it to callers that it refuses.
                result.cache_scope = "private"
            if after is not None:
                result.next_cursor = after
            page = encode(lowered(result, revision))
            with self._lock:
                if version == self._version and len(self._pages) < _KEPT_PAGES:
                    self._pages[key] = page
        return page

    async def _page_with_sources(
        self,
        call: Exchange,
        cursor: str | None,
        build: Callable[[list[T], Revision], PagedResult],
    ) -> Result:
        """Return one page with the current items of the sources. It is not cached."""
        ordinal, place = (0, 0) if cursor is None else self._read_cursor(cursor)
        if place:
            items: list[T] = []
            after: str | None = None
        else:
            items, after = self._slice(cursor if ordinal else None)
        if after is None:
            begin = max(place - 1, 0)
            more = list((await self.source_items(call)).values())[begin:]
            room = len(more) if self._page_size is None else self._page_size - len(items)
            items += more[:room]
            if len(more) > room:
                after = f"{self._what}-0-{begin + room + 1:x}"
        revision = call.caller.revision
        result = build(items, revision)
        if call.caller.principal is not None or any(
            source.active and source.private for source in self.sources
        ):
            result.cache_scope = "private"
        if after is not None:
            result.next_cursor = after
        return encode(lowered(result, revision))

    async def source_items(self, exchange: Exchange) -> dict[str, T]:
        """Return the current items of all sources. The first item of a name counts."""
        found: dict[str, T] = {}
        for source in self.sources:
            if source.active:
                for name, item in (await source.list(exchange)).items():
                    if name not in self.seen and name not in self._hidden:
                        found.setdefault(name, item)
        return found

    def put_mirrored(self, name: str, item: T, *, is_withheld: bool) -> None:
        """Add or replace a mirrored item, hidden if `is_withheld`. One disabled here stays so."""
        with self._lock:
            slot = self.found(name)
            if slot is None:
                self._ordinal += 1
                self._registration_id += 1
                slot = Slot(self._ordinal, self._registration_id, item)
            self._store(name, structs.replace(slot, item=item, is_withheld=is_withheld))

    def remove_mirrored(self, name: str) -> None:
        """Remove a mirrored item."""
        with self._lock:
            self.seen.pop(name, None)
            self._hidden.pop(name, None)
            self._after_change(name)

    def is_taken(self, name: str) -> bool:
        """Whether a visible or hidden item has this name."""
        return name in self.seen or name in self._hidden

    def forget_pages(self) -> None:
        """Drop the cached pages, after a change."""
        with self._lock:
            # Every change passes here, so an item that was added and removed is noticed, too.
            self._was_offered = self._was_offered or self._has_any()
            self._version += 1
            self._pages.clear()

    def _after_change(self, name: str) -> None:
        """Drop the pages and update the mirrors, after a change. Called with the lock held."""
        self.forget_pages()
        for follower in self.followers:
            follower.refresh(name, self.found(name))

    def _slice(self, cursor: str | None) -> tuple[list[T], str | None]:
        with self._lock:  # so that several additions appear at the same time
            entries = list(self.seen.values())
        if cursor is not None:
            last, _ = self._read_cursor(cursor)
            entries = [entry for entry in entries if entry.ordinal > last]
        if self._page_size is None or len(entries) <= self._page_size:
            return [entry.item for entry in entries], None
        entries = entries[: self._page_size]
        return [entry.item for entry in entries], f"{self._what}-{entries[-1].ordinal:x}"

    def _read_cursor(self, cursor: str) -> tuple[int, int]:
        """Return the ordinal before the next page, and the index in the sources' items, from 1."""
        given = _CURSOR.fullmatch(cursor)
        if given is not None and given["what"] == self._what:
            ordinal, place = int(given["ordinal"], 16), int(given["place"] or "0", 16)
            if 0 < ordinal <= self._ordinal and not place:
                return ordinal, 0
            if not ordinal and place and self.is_evaluated:
                return 0, place
        raise InvalidParams(
            f"params.cursor: {shown(cursor)} is not a cursor of this list; pass `nextCursor` as it "
            "was given, or leave it out to begin"
        )
