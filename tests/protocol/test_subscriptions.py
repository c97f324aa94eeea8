"""What a client wants to hear of, what of it is granted, and which changes match."""

import itertools

import pytest
from msgspec import UNSET

from toolhaft.protocol.subscriptions import (
    EVERY_LIST,
    Interests,
    ListChange,
    ListKind,
    ResourceChange,
    honoured,
)
from toolhaft.types.notifications import Wishes

KINDS: list[ListKind] = ["tools", "prompts", "resources"]


def wishes_for(*kinds: str) -> Wishes:
    return Wishes(**{f"{kind}_list_changed": True for kind in kinds})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_a_wish_is_granted_if_the_server_offers_it(kind: ListKind) -> None:
    granted, interests = honoured(wishes_for(kind), frozenset([kind]))

    assert granted == wishes_for(kind)
    assert interests.lists == {kind}


@pytest.mark.parametrize(("wanted", "offered"), [*itertools.permutations(KINDS, 2)])
def test_nothing_is_granted_that_is_not_offered(wanted: ListKind, offered: ListKind) -> None:
    granted, interests = honoured(wishes_for(wanted), frozenset([offered]))

    assert granted == Wishes()
    assert interests.lists == frozenset()


def test_a_wish_not_to_hear_is_not_repeated() -> None:
    granted, interests = honoured(Wishes(tools_list_changed=False), EVERY_LIST)

    assert granted.tools_list_changed is UNSET
    assert interests.lists == frozenset()


def test_resources_are_followed_where_there_are_any() -> None:
    wishes = Wishes(resource_subscriptions=["a://b", "c://d"])
    granted, interests = honoured(wishes, frozenset(["resources"]))
    nothing, none = honoured(wishes, frozenset(["tools"]))

    assert granted.resource_subscriptions == ["a://b", "c://d"]
    assert interests.uris == {"a://b", "c://d"}
    assert (nothing.resource_subscriptions, none.uris) == (UNSET, frozenset())


def test_an_empty_list_of_resources_is_not_repeated() -> None:
    granted, _ = honoured(Wishes(resource_subscriptions=[]), EVERY_LIST)

    assert granted.resource_subscriptions is UNSET


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_is_followed_or_not(kind: ListKind) -> None:
    others = EVERY_LIST - {kind}

    assert Interests(frozenset([kind])).match(ListChange(kind))
    assert not Interests(others).match(ListChange(kind))


@pytest.mark.parametrize(
    ("uri", "is_followed"),
    [("a://b", True), ("a://b/c", True), ("a://b/c/d", True), ("a://bc", False), ("a://", False)],
)
def test_who_follows_a_resource_follows_what_is_below_it(uri: str, is_followed: bool) -> None:
    interests = Interests(uris=frozenset(["a://b"]))

    assert interests.match(ResourceChange(uri)) is is_followed
