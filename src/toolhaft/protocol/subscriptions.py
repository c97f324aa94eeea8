"""What a client wants to hear of, and which changes match."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct

from ..types.notifications import Notice, ResourceUpdated, Wishes

ListKind: TypeAlias = Literal["tools", "prompts", "resources"]


class ListChange(Struct, frozen=True):
    """Something was added to a list, taken from it, or altered."""

    kind: ListKind

    def notification(self) -> tuple[str, Notice]:
        """Method and parameters of what is sent."""
        return f"notifications/{self.kind}/list_changed", Notice()


class ResourceChange(Struct, frozen=True):
    """What a resource holds has changed."""

    uri: str

    def notification(self) -> tuple[str, Notice]:
        """Method and parameters of what is sent."""
        return "notifications/resources/updated", ResourceUpdated(uri=self.uri)


Change: TypeAlias = ListChange | ResourceChange
Listener: TypeAlias = Callable[[Change], None]

EVERY_LIST: frozenset[ListKind] = frozenset(("tools", "prompts", "resources"))


class Interests:
    """The lists and the resources that one listener follows."""

    __slots__ = ("lists", "uris")

    def __init__(
        self, lists: frozenset[ListKind] = EVERY_LIST, uris: frozenset[str] = frozenset()
    ) -> None:
        self.lists = lists
        # Replaced as a whole, never altered: changes are published on other threads.
        self.uris = uris

    def match(self, change: Change) -> bool:
        """Does the listener want to hear of this?"""
        if isinstance(change, ListChange):
            return change.kind in self.lists
        return change.uri in self.uris or any(change.uri.startswith(uri + "/") for uri in self.uris)


def honoured(wishes: Wishes, offered: frozenset[str]) -> tuple[Wishes, Interests]:
    """What of a client's wishes is granted: all that the server offers, and nothing falsy."""
    granted = Wishes()
    lists: set[ListKind] = set()
    for kind in EVERY_LIST & offered:
        member = f"{kind}_list_changed"
        if getattr(wishes, member) is True:
            setattr(granted, member, True)
            lists.add(kind)
    uris: list[str] = []
    if wishes.resource_subscriptions is not UNSET and "resources" in offered:
        uris = wishes.resource_subscriptions
        if uris:
            granted.resource_subscriptions = uris
    return granted, Interests(frozenset(lists), frozenset(uris))
