"""The place of a thing in a registry: where it stands, which one it is, and who hides it."""

from typing import Generic, Protocol, TypeVar

from msgspec import Struct, structs

T = TypeVar("T")


class Slot(Struct, Generic[T], frozen=True):
    """A thing in its place."""

    # Never given twice: what a cursor holds. What replaces something stands in its place.
    ordinal: int
    # Never given twice either: it tells the thing from those that had its name before and after.
    # What is updated stays the same thing; what replaces it is another one.
    tenure: int
    item: T
    # By whom it is hidden: by somebody here, by the included server that has it, or by both.
    is_disabled: bool = False
    is_withheld: bool = False
    # The tenure of each registration, if it is shared.
    sharers: frozenset[int] = frozenset()

    def is_held_by(self, tenure: int) -> bool:
        """Was it registered under this tenure, and is it still?"""
        return tenure == self.tenure or tenure in self.sharers

    def without(self, tenure: int) -> "Slot[T] | None":
        """The same without this share of it; None if that was the last one."""
        left = self.sharers - {tenure}
        return structs.replace(self, tenure=min(left), sharers=left) if left else None

    @property
    def is_seen(self) -> bool:
        """Can clients see it?"""
        return not (self.is_disabled or self.is_withheld)


class Follower(Protocol[T]):
    """Another registry that has all that one has, under names of its own."""

    def has(self, name: str, /) -> bool:
        """Is this name, as it is there, one of those that were taken over?"""
        ...

    def check(self, name: str, /) -> None:
        """Can there be something of this name? Raises ValueError if there it is taken."""
        ...

    def release(self, name: str, /) -> None:
        """Something else has this name there from now on."""
        ...

    def refresh(self, name: str, slot: "Slot[T] | None", /) -> None:
        """What has this name is another one now, or hidden, or gone."""
        ...
