"""The ordered store behind every list: stable pages, and one place that knows of changes.

What is registered is static, and its pages are kept as bytes. Sources are asked with each request
for what they have to offer then; their things stand behind the static ones.
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

# Encoded pages kept per list: every revision's first pages, with room to spare.
_KEPT_PAGES = 64
_NAMED = 10
# How far a list was read: up to this ordinal or, if that is 0, to this place (from 1) among what
# sources gave.
_CURSOR = pattern(r"(?P<what>[a-z]+)-(?P<ordinal>[0-9a-f]{1,16})(?:-(?P<place>[0-9a-f]{1,8}))?")


def require(collection: object, what: str) -> None:
    """A method of a capability that is not offered does not exist.

    Raises:
        MethodNotFound: there is nothing of this kind.
    """
    if not collection:
        raise MethodNotFound(f"this server offers no {what}")


class Source(Protocol[C]):
    """What is asked with each request for the things it has."""

    @property
    def active(self) -> bool:
        """Can it have anything?"""
        ...

    @property
    def private(self) -> bool:
        """May it have other things for another caller?"""
        ...

    async def list(self, exchange: Exchange, /) -> Mapping[str, C]:
        """What it has now, by name."""
        ...

    async def find(self, exchange: Exchange, name: str, /) -> C | None:
        """The thing of this name, if it has it now."""
        ...


class Registry(Generic[T]):
    """Things by name, in the order of their registration."""

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
        # Warns of names that clients may refuse, where names are joined.
        self.vet = vet
        # Shared by the registries of a server, so that what is added together appears together.
        self._lock: Any = threading.RLock() if lock is None else lock
        # Those that clients see, in their order.
        self.seen: dict[str, Slot[T]] = {}
        # Those that are disabled, here or where they are from: nobody sees them, but their names
        # are taken.
        self._hidden: dict[str, Slot[T]] = {}
        # Those that have all that is here, and those of whom all is here.
        self.followers: list[Follower[T]] = []
        self.mirrors: list[Follower[T]] = []
        # Replaced as a whole, never altered.
        self.sources: tuple[Source[T], ...] = ()
        self._ordinal = 0
        self._tenure = 0
        # By revision, by cursor if there is one, and marked if it is for a principal.
        self._pages: dict[str | tuple[str, str | None] | tuple[str, str | None, bool], bytes] = {}
        self._version = 0
        # Set once there has been anything to list, and never cleared: a client that was told of
        # the capability gets an empty list afterwards, not an unknown method.
        self._was_offered = False

    def __len__(self) -> int:
        return len(self.seen)

    def __bool__(self) -> bool:
        """Is this list offered? Once it has had something it is, even if it is empty now."""
        return self._was_offered or self._has_any()

    def _has_any(self) -> bool:
        return bool(self.seen or self._hidden or self.is_evaluated)

    @property
    def is_evaluated(self) -> bool:
        """Does anything of it depend on what sources have when they are asked?"""
        return any(source.active for source in self.sources)

    def __iter__(self) -> Iterator[T]:
        return iter([slot.item for slot in list(self.seen.values())])

    def get(self, name: str) -> T | None:
        """The thing of this name."""
        found = self.seen.get(name)
        return None if found is None else found.item

    def add(self, name: str, item: T, *, replace: bool = False) -> int:
        """Put it at the end, or in the place of the one it replaces, and tell its tenure.

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
            self._tenure += 1
            tenure = self._tenure
            self._put(name, item, tenure)
        self._changed()
        return tenure

    def share(self, name: str, item: T, is_same: Callable[[T], bool]) -> int:
        """Put it at the end, or take a share in what is there already, and tell the tenure. It
        stays until every share was removed.

        Args:
            is_same: is this what is to be shared?

        Raises:
            ValueError: the name is taken by something else, or by what is not shared.
        """
        with self._lock:
            self.check_sharable(name, is_same)
            slot = self.found(name)
            if slot is None:
                self.add(name, item)
                slot = self._slot(name)
                tenure = slot.tenure
            else:
                self._tenure += 1
                tenure = self._tenure
            self._place(name, structs.replace(slot, sharers=slot.sharers | {tenure}))
        return tenure

    def check_sharable(self, name: str, is_same: Callable[[T], bool]) -> None:
        """Can something be shared under this name?

        Raises:
            ValueError: the name is taken by something else, or by what is not shared.
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
        """Can something be added under this name?

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
        """Can there be something of this name for those who have all that is here?

        Raises:
            ValueError: with one of them the name is taken.
        """
        for follower in self.followers:
            follower.check(name)

    def _put(self, name: str, item: T, tenure: int) -> None:
        taken = self.found(name)
        if taken is None:
            self._ordinal += 1
        ordinal = self._ordinal if taken is None else taken.ordinal
        self._place(name, Slot(ordinal, tenure, item))

    def _place(self, name: str, slot: Slot[T]) -> None:
        """Have it among those that are seen, or among the others. Called with the lock held."""
        seen, hidden = self.seen, self._hidden
        slots, others = (seen, hidden) if slot.is_seen else (hidden, seen)
        slots[name] = slot
        if others.pop(name, None) is not None and slot.is_seen:
            self._sort()
        self._altered(name)

    def found(self, name: str) -> Slot[T] | None:
        """The place of what has this name, whether clients see it or not."""
        return self.seen.get(name) or self._hidden.get(name)

    def names(self) -> list[str]:
        """All names, also of what is disabled."""
        with self._lock:
            return sorted([*self.seen, *self._hidden], key=lambda name: self._slot(name).ordinal)

    def some_names(self) -> str:
        """The first few names, for a message to somebody who knows none of them."""
        names = list(self.seen)
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return ", ".join(names[:_NAMED]) + more

    def tenure(self, name: str) -> int:
        """What tells the thing of this name from all others, before and after.

        Raises:
            KeyError: there is none of this name.
        """
        return self._slot(name).tenure

    def is_enabled(self, name: str, tenure: int) -> bool:
        """Can clients see it?

        Raises:
            KeyError: it was removed or replaced.
        """
        return self._slot(name, tenure).is_seen

    def item(self, name: str, tenure: int) -> T:
        """The thing itself, whether clients see it or not.

        Raises:
            KeyError: it was removed or replaced.
        """
        return self._slot(name, tenure).item

    def change(self, name: str, tenure: int, alter: Callable[[T], T]) -> None:
        """Make another one of a thing, which stays where it is; if it is disabled, it stays so.

        Args:
            alter: called with the lock held, so that of two changes none is lost.

        Raises:
            KeyError: it was removed or replaced.
        """
        with self._lock:
            slot = self._slot(name, tenure)
            self._place(name, structs.replace(slot, item=alter(slot.item)))
        self._changed()

    def hide(self, name: str, tenure: int) -> None:
        """Disable it, so that no client sees it; its place is kept.

        Raises:
            KeyError: it was removed or replaced.
        """
        with self._lock:
            slot = self._slot(name, tenure)
            if slot.is_disabled:
                return
            self._place(name, structs.replace(slot, is_disabled=True))
        self._changed()

    def show(self, name: str, tenure: int) -> None:
        """Enable it again, where it stood. It is seen if it is enabled where it is from, too.

        Raises:
            KeyError: it was removed or replaced.
        """
        with self._lock:
            slot = self._slot(name, tenure)
            if not slot.is_disabled:
                return
            self._place(name, structs.replace(slot, is_disabled=False))
        self._changed()

    def remove(self, name: str, tenure: int | None = None) -> None:
        """Take it away, or one share of it if it is shared.

        Raises:
            KeyError: there is none of this name, or, with a tenure, not any more.
        """
        with self._lock:
            slot = self._slot(name, tenure)
            rest = slot.without(slot.tenure if tenure is None else tenure)
            if rest is not None:
                self._place(name, rest)
                return
            if any(mirror.has(name) for mirror in self.mirrors):
                raise ValueError(
                    f"the {self._what} {name!r} is of an included server; remove it there, or "
                    "disable it here"
                )
            self.seen.pop(name, None)
            self._hidden.pop(name, None)
            self._altered(name)
        self._changed()

    def discard(self, name: str, tenure: int) -> None:
        """Take it away if it is still there, and not what replaced it."""
        with self._lock:
            found = self.found(name)
            if found is not None and found.is_held_by(tenure):
                self.remove(name, tenure)

    def attend(self, source: Source[T]) -> None:
        """Ask this source, too, from now on."""
        with self._lock:
            self.sources = (*self.sources, source)
            self.forget_pages()
        self._changed()

    def leave(self, source: Source[T]) -> None:
        """Ask it no more."""
        with self._lock:
            self.sources = tuple(each for each in self.sources if each is not source)
            self.forget_pages()
        self._changed()

    async def find(self, exchange: Exchange, name: str) -> T | None:
        """The thing of this name that a source has now; the first of them that has it."""
        if self.is_taken(name):  # by what is disabled
            return None
        for source in self.sources:
            if source.active and (found := await source.find(exchange, name)) is not None:
                return found
        return None

    def _slot(self, name: str, tenure: int | None = None) -> Slot[T]:
        found = self.found(name)
        if found is None or not (tenure is None or found.is_held_by(tenure)):
            gone = "" if tenure is None else " any more: it was removed"
            if found is not None:
                gone += " or replaced"
            raise KeyError(f"there is no {self._what} named {name!r}{gone}")
        return found

    def _sort(self) -> None:
        self.seen = dict(sorted(self.seen.items(), key=lambda entry: entry[1].ordinal))

    def page(self, call: Exchange, build: Callable[[list[T], Revision], PagedResult]) -> Outcome:
        """One page of the list, encoded for the caller, and kept until something changes."""
        caller = call.caller
        revision = caller.revision
        cursor: str | None = None if call.params.cursor is UNSET else call.params.cursor
        key: Any = revision.date if cursor is None else (revision.date, cursor)  # mostly the first
        if caller.principal is not None:
            key = (revision.date, cursor, True)
        page = self._pages.get(key)
        if page is None:
            # Before anything is looked at that may change meanwhile.
            version = self._version
            if self.sources and self.is_evaluated:
                return self._asked(call, cursor, build)
            items, after = self._slice(cursor)
            result = build(items, revision)
            if caller.principal is not None:
                # Behind a guard: "public" lets a cache give it to those that the guard refuses.
                result.cache_scope = "private"
            if after is not None:
                result.next_cursor = after
            page = encode(lowered(result, revision))
            with self._lock:
                if version == self._version and len(self._pages) < _KEPT_PAGES:
                    self._pages[key] = page
        return page

    async def _asked(
        self,
        call: Exchange,
        cursor: str | None,
        build: Callable[[list[T], Revision], PagedResult],
    ) -> Result:
        """The same with what the sources have now, which is kept by nobody."""
        ordinal, place = (0, 0) if cursor is None else self._read_cursor(cursor)
        if place:
            items: list[T] = []
            after: str | None = None
        else:
            items, after = self._slice(cursor if ordinal else None)
        if after is None:
            begin = max(place - 1, 0)
            more = list((await self.gathered(call)).values())[begin:]
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

    async def gathered(self, exchange: Exchange) -> dict[str, T]:
        """All that sources have now. Of those with the same name, the first counts."""
        found: dict[str, T] = {}
        for source in self.sources:
            if source.active:
                for name, item in (await source.list(exchange)).items():
                    if name not in self.seen and name not in self._hidden:
                        found.setdefault(name, item)
        return found

    def reflect(self, name: str, item: T, *, is_withheld: bool) -> None:
        """Take over what another registry has under this name; what is disabled here stays so."""
        with self._lock:
            slot = self.found(name)
            if slot is None:
                self._ordinal += 1
                self._tenure += 1
                slot = Slot(self._ordinal, self._tenure, item)
            self._place(name, structs.replace(slot, item=item, is_withheld=is_withheld))

    def forgo(self, name: str) -> None:
        """Give back what was taken over, and is there no more."""
        with self._lock:
            self.seen.pop(name, None)
            self._hidden.pop(name, None)
            self._altered(name)

    def is_taken(self, name: str) -> bool:
        """Is there anything of this name?"""
        return name in self.seen or name in self._hidden

    def forget_pages(self) -> None:
        """Lists are other ones now."""
        with self._lock:
            # Every change comes by here: nothing can be added and removed again unseen.
            self._was_offered = self._was_offered or self._has_any()
            self._version += 1
            self._pages.clear()

    def _altered(self, name: str) -> None:
        """Something is there, is another one or is gone. Called with the lock held."""
        self.forget_pages()
        for follower in self.followers:
            follower.refresh(name, self.found(name))

    def _slice(self, cursor: str | None) -> tuple[list[T], str | None]:
        with self._lock:  # so that what is added together is seen together
            entries = list(self.seen.values())
        if cursor is not None:
            last, _ = self._read_cursor(cursor)
            entries = [entry for entry in entries if entry.ordinal > last]
        if self._page_size is None or len(entries) <= self._page_size:
            return [entry.item for entry in entries], None
        entries = entries[: self._page_size]
        return [entry.item for entry in entries], f"{self._what}-{entries[-1].ordinal:x}"

    def _read_cursor(self, cursor: str) -> tuple[int, int]:
        """Behind which ordinal, and where among what sources gave, the next page begins. Nothing
        is remembered of pages given."""
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
