"""Slots of a registry: an item with its position, its identity and its visibility."""

from typing import Generic, Protocol, TypeVar

from msgspec import Struct, structs

T = TypeVar("T")


class Slot(Struct, Generic[T], frozen=True):
    """An item of a registry."""

    # Position, unique and increasing, as cursors hold it. A replacement takes over the position.
    ordinal: int
    # Identity among the items that had this name, unique. An update keeps it; a replacement gets a
    # new one.
    registration_id: int
    item: T
    # Disabled in this registry, and disabled in the included server that it comes from.
    is_disabled: bool = False
    is_withheld: bool = False
    # The IDs of all registrations, if it is shared.
    sharers: frozenset[int] = frozenset()

    def is_held_by(self, registration_id: int) -> bool:
        """Whether this is the ID of its registration, or of one of its shares."""
        return registration_id == self.registration_id or registration_id in self.sharers

    def without(self, registration_id: int) -> "Slot[T] | None":
        """Return the slot without this share; None if that was the last one."""
        left = self.sharers - {registration_id}
        return structs.replace(self, registration_id=min(left), sharers=left) if left else None

    @property
    def is_seen(self) -> bool:
        """Whether clients see it."""
        return not (self.is_disabled or self.is_withheld)


class Follower(Protocol[T]):
    """The link from a registry to another one that mirrors it under other names."""

    def has(self, name: str, /) -> bool:
        """Whether the item of this name in the mirroring registry is a mirrored one."""
        ...

    def check(self, name: str, /) -> None:
        """Raise ValueError if the mirroring registry cannot take this name."""
        ...

    def release(self, name: str, /) -> None:
        """Stop mirroring the item of this name: it is being replaced there."""
        ...

    def refresh(self, name: str, slot: "Slot[T] | None", /) -> None:
        """Apply a change: an item was added, replaced, hidden or removed."""
        ...
