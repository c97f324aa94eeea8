"""A registry that mirrors another one, for included servers."""

from collections.abc import Callable
from typing import Generic, TypeVar

from .registry import Registry
from .slots import Slot

T = TypeVar("T")


def start_mirror(
    mine: Registry[T],
    other: Registry[T],
    rename: Callable[[str], str],
    rename_item: Callable[[str, T], T],
) -> Callable[[], None]:
    """Mirror all items of `other` in `mine`; return a function that ends it. The caller has checked
    the names, and holds the locks of both registries.

    Args:
        rename: maps a name in `other` to the name in `mine`.
        rename_item: copies an item under its name in `mine`.
    """
    mirror = Mirror(mine, rename, rename_item)
    mine.mirrors.append(mirror)
    other.followers.append(mirror)
    for name in other.names():
        mirror.refresh(name, other.found(name))

    def end() -> None:
        other.followers.remove(mirror)
        mirror.empty()
        mine.mirrors.remove(mirror)

    return end


class Mirror(Generic[T]):
    """The items of another registry that were added to `mine`."""

    __slots__ = ("_mine", "_mirrored", "_rename", "_rename_item")

    def __init__(
        self, mine: Registry[T], rename: Callable[[str], str], rename_item: Callable[[str, T], T]
    ) -> None:
        self._mine = mine
        self._rename = rename
        self._rename_item = rename_item
        # Names, in the other registry, of the items that are in `mine`.
        self._mirrored: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether the item of this name in `mine` is a mirrored one."""
        return any(self._rename(each) == name for each in self._mirrored)

    def check(self, name: str) -> None:
        """Check that an item can be added to the other registry under this name.

        Raises:
            ValueError: the name is taken in `mine`.
        """
        joined = self._rename(name)
        if name not in self._mirrored and self._mine.is_taken(joined):
            raise ValueError(
                f"a server that includes this one has {joined!r} already; give this one another "
                "name"
            )
        self._mine.vet(joined)
        self._mine.check_followers(joined)

    def release(self, name: str) -> None:
        """Stop mirroring the item of this name in `mine`: it is being replaced."""
        self._mirrored -= {each for each in self._mirrored if self._rename(each) == name}

    def refresh(self, name: str, slot: Slot[T] | None) -> None:
        """Apply a change of the other registry: an item was added, replaced, hidden or removed. An
        item of `mine` itself under the same name stays."""
        joined = self._rename(name)
        if slot is None:
            if name in self._mirrored:
                self._mirrored.remove(name)
                self._mine.remove_mirrored(joined)
        elif name in self._mirrored or not self._mine.is_taken(joined):
            self._mirrored.add(name)
            item = self._rename_item(joined, slot.item)
            self._mine.put_mirrored(joined, item, is_withheld=not slot.is_seen)

    def empty(self) -> None:
        """Remove all mirrored items."""
        for name in list(self._mirrored):
            self.refresh(name, None)
