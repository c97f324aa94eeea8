"""The ordered store behind every list: names, pages, and changes."""

import json
from typing import Any

import pytest

from toolhaft import InvalidParams
from toolhaft.features.providers.registry import Registry
from toolhaft.protocol.calls import Call
from toolhaft.protocol.peer import Peer
from toolhaft.types.tools import ListToolsResult, Tool
from toolhaft.types.wire import Implementation

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def call(cursor: object = None) -> Call:
    params = {"_meta": META} if cursor is None else {"_meta": META, "cursor": cursor}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
    event = Peer(Implementation(name="t", version="1")).receive(json.dumps(message).encode())
    assert isinstance(event, Call)
    return event


class Shelf:
    """A registry of strings, and how often it said that it has changed."""

    def __init__(self, page_size: int | None = None, names: str = "") -> None:
        self.changes = 0
        self.built = 0
        self.registry: Registry[str] = Registry("tool", page_size, self._count)
        for name in names:
            self.registry.add(name, f"item {name}")

    def _count(self) -> None:
        self.changes += 1

    def page(self, cursor: object = None) -> tuple[str, Any]:
        def build(items: list[str], *_revision: object) -> ListToolsResult:
            self.built += 1
            return ListToolsResult(tools=[Tool(name=item[-1]) for item in items])

        page = json.loads(self.registry.page(call(cursor), build))
        return "".join(tool["name"] for tool in page["tools"]), page.get("nextCursor")

    def pages(self) -> list[str]:
        names, cursor = self.page()
        found = [names]
        while cursor is not None:
            names, cursor = self.page(cursor)
            found.append(names)
        return found


def test_things_are_found_by_name() -> None:
    shelf = Shelf(names="ab")

    assert shelf.registry.get("a") == "item a"
    assert shelf.registry.get("z") is None
    assert len(shelf.registry) == 2


def test_things_stand_in_the_order_of_their_registration() -> None:
    assert list(Shelf(names="cab").registry) == ["item c", "item a", "item b"]


def test_a_name_that_is_taken_is_refused() -> None:
    shelf = Shelf(names="a")

    with pytest.raises(ValueError, match="'a'"):
        shelf.registry.add("a", "other")

    assert shelf.registry.get("a") == "item a"
    assert shelf.changes == 1


def test_a_replacement_takes_the_place_of_the_old_one() -> None:
    shelf = Shelf(names="abc")

    shelf.registry.add("b", "item x", replace=True)

    assert list(shelf.registry) == ["item a", "item x", "item c"]


def test_what_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(KeyError, match="'z'"):
        Shelf(names="a").registry.remove("z")


def test_every_change_is_told() -> None:
    shelf = Shelf(names="ab")

    shelf.registry.remove("a")
    shelf.registry.add("b", "item b", replace=True)

    assert shelf.changes == 4


def test_a_registry_may_change_while_somebody_looks_at_it() -> None:
    shelf = Shelf(names="abc")

    for item in shelf.registry:
        shelf.registry.remove(item[-1])

    assert len(shelf.registry) == 0


def test_without_a_page_size_everything_is_on_one_page() -> None:
    assert Shelf(names="abcde").pages() == ["abcde"]


@pytest.mark.parametrize(
    ("size", "pages"),
    [(1, ["a", "b", "c", "d"]), (2, ["ab", "cd"]), (3, ["abc", "d"]), (4, ["abcd"]), (9, ["abcd"])],
)
def test_pages_hold_everything_once(size: int, pages: list[str]) -> None:
    assert Shelf(size, "abcd").pages() == pages


def test_an_empty_list_is_one_empty_page() -> None:
    assert Shelf(2).pages() == [""]


def test_what_is_removed_between_pages_does_not_move_the_others() -> None:
    shelf = Shelf(2, "abcdef")
    _, cursor = shelf.page()

    shelf.registry.remove("a")
    shelf.registry.remove("b")

    assert shelf.page(cursor)[0] == "cd"


def test_what_is_added_between_pages_comes_at_the_end() -> None:
    shelf = Shelf(2, "abc")
    _, cursor = shelf.page()

    shelf.registry.add("d", "item d")

    assert shelf.page(cursor) == ("cd", None)


def test_a_cursor_is_good_more_than_once() -> None:
    shelf = Shelf(2, "abcdef")
    _, cursor = shelf.page()

    assert shelf.page(cursor) == shelf.page(cursor)
    assert shelf.page(cursor)[0] == "cd"


@pytest.mark.parametrize(
    "cursor",
    [
        *("", "x", "1", "tool-", "tool-0", "tool--1", "tool-zz", "tool-ffff", "prompt-1"),
        *("tool- 1", "tool-+1", "tool-0x1", "tool-1_0", "tool-\u0661"),
        *("x" * 10_000, "tool-" + "1" * 10_000),
    ],
    ids=lambda cursor: repr(cursor[:20]),
)
def test_a_cursor_that_was_never_given_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidParams, match="cursor") as failure:
        Shelf(2, "abcdefghijklmnopqrstuvwxyz").page(cursor)

    assert len(str(failure.value)) < 500


def test_a_page_is_built_once_until_something_changes() -> None:
    shelf = Shelf(names="ab")

    first, again = shelf.page(), shelf.page()
    shelf.registry.add("c", "item c")
    changed = shelf.page()

    assert (first, again, changed) == (("ab", None), ("ab", None), ("abc", None))
    assert shelf.built == 2


def test_cursors_of_a_client_do_not_fill_the_memory() -> None:
    shelf = Shelf(1, "")
    for number in range(300):
        shelf.registry.add(f"{number:03}", f"item {number % 10}")

    assert len(shelf.pages()) == 300
    assert len(shelf.pages()) == 300


def test_a_page_without_a_source_that_has_just_come_is_not_kept() -> None:
    shelf = Shelf(names="a")

    class Joined:
        """Another thread gives it something to list right after it was asked."""

        private = False
        count = 0

        @property
        def active(self) -> bool:
            self.count += 1
            if self.count == 1:
                shelf.registry.forget_pages()
            return False

        async def list(self, exchange: object) -> dict[str, str]:
            return {}

        async def find(self, exchange: object, name: str) -> None: ...

    shelf.registry.add_source(Joined())
    shelf.page()
    shelf.page()

    assert shelf.built == 2
