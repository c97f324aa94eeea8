"""What one registry has of another one's, now and from now on."""

from collections.abc import Callable
from typing import Generic, TypeVar

from .registry import Registry
from .slots import Slot

T = TypeVar("T")


def follow(
    mine: Registry[T],
    other: Registry[T],
    rename: Callable[[str], str],
    under: Callable[[str, T], T],
) -> Callable[[], None]:
    """Have all that another registry has; the result ends that. Whoever calls has checked the
    names, and holds the locks of both.

    Args:
        rename: the name here of what has a name there.
        under: the thing as it is here, under this name.
    """
    mirror = Mirror(mine, rename, under)
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
    """What was taken over, and under which names."""

    __slots__ = ("_mine", "_rename", "_taken", "_under")

    def __init__(
        self, mine: Registry[T], rename: Callable[[str], str], under: Callable[[str, T], T]
    ) -> None:
        self._mine = mine
        self._rename = rename
        self._under = under
        # The names there of what was taken over.
        self._taken: set[str] = set()

    def has(self, name: str) -> bool:
        """Is this name, as it is here, one of those that were taken over?"""
        return any(self._rename(each) == name for each in self._taken)

    def check(self, name: str) -> None:
        """Can there be something of this name there?

        Raises:
            ValueError: here it is taken.
        """
        joined = self._rename(name)
        if name not in self._taken and self._mine.is_taken(joined):
            raise ValueError(
                f"a server that includes this one has {joined!r} already; give this one another "
                "name"
            )
        self._mine.vet(joined)
        self._mine.check_followers(joined)

    def release(self, name: str) -> None:
        """Something else has this name here from now on."""
        self._taken -= {each for each in self._taken if self._rename(each) == name}

    def refresh(self, name: str, slot: Slot[T] | None) -> None:
        """What has this name there is another one now, or hidden, or gone. What has been added
        here meanwhile under the same name stays."""
        joined = self._rename(name)
        if slot is None:
            if name in self._taken:
                self._taken.remove(name)
                self._mine.forgo(joined)
        elif name in self._taken or not self._mine.is_taken(joined):
            self._taken.add(name)
            item = self._under(joined, slot.item)
            self._mine.reflect(joined, item, is_withheld=not slot.is_seen)

    def empty(self) -> None:
        """Give back all that was taken over."""
        for name in list(self._taken):
            self.refresh(name, None)
