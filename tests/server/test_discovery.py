"""`include(obj, discover=True)`: which methods become tools although nothing marks them."""

import functools
import types
from collections.abc import Callable
from typing import Any

import pytest
from tests.asking import outcome as ask

from toolhaft import Server, ToolInfo, prompt, tool
from toolhaft.testing import Client


class Base:
    def inherited(self) -> str:
        """A method of a base class, which may be of a library."""
        return "inherited"

    def overridden(self) -> str:
        """A method of a base class."""
        return "base"


class Service(Base):
    """Has a bit of everything."""

    function: Callable[[], str]

    def __init__(self) -> None:
        self.reads = 0
        self.attribute = self.plain

    def plain(self, count: int = 1) -> int:
        """Count.

        Args:
            count: how far.
        """
        return count

    async def waiting(self) -> str:
        """Wait."""
        return "waited"

    def overridden(self) -> str:
        """A method of its own."""
        return "own"

    def undocumented(self) -> str:
        return "undocumented"

    def blank(self) -> str:
        """ """
        return "blank"

    def _private(self) -> str:
        """Private."""
        return "private"

    @property
    def value(self) -> str:
        """Must not even be read."""
        self.reads += 1
        return "value"

    @functools.cached_property
    def kept(self) -> str:
        """Must not even be read."""
        self.reads += 1
        return "kept"

    @classmethod
    def make(cls) -> "Service":
        """Make one."""
        return cls()

    @staticmethod
    def helper() -> str:
        """Help."""
        return "helped"

    class Inner:
        """A class is not a method."""

    @tool(name="renamed")
    def marked(self) -> str:
        """Marked."""
        return "marked"

    @prompt
    def written(self) -> str:
        """A prompt stays one."""
        return "written"


def discovering(provider: object, prefix: str | None = None) -> Server:
    server = Server("discovering", version="1")
    server.include(provider, prefix, discover=True)
    return server


async def test_public_methods_with_docstrings_are_tools() -> None:
    server = discovering(Service())

    assert list(server.tools) == ["renamed", "plain", "waiting", "overridden"]
    assert list(server.prompts) == ["written"]


async def test_they_are_described_and_called_as_any_tool() -> None:
    async with Client(discovering(Service(), "my")) as client:
        found = {each.name: each for each in await client.list_tools()}

        assert found["my_plain"].description == "Count."
        assert found["my_plain"].input_schema["properties"]["count"]["description"] == "how far."
        assert await client.call("my_plain", count=3) == 3
        assert await client.call("my_waiting") == "waited"
        assert await client.call("my_overridden") == "own"


async def test_properties_are_not_read() -> None:
    service = Service()

    discovering(service)

    assert service.reads == 0


async def test_without_it_only_marks_count() -> None:
    server = Server("marked", version="1", providers=[Service()])

    assert list(server.tools) == ["renamed"]


async def test_lists_and_handlers_keep_their_meaning() -> None:
    class Listing:
        def tools(self) -> list[ToolInfo]:
            """What it lists."""
            return [ToolInfo("listed")]

        def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
            """Answers for all of them."""
            return "handled" if name == "listed" else NotImplemented

        def method(self) -> str:
            """Discovered."""
            return "method"

    server = discovering(Listing())
    listed = (await ask(server, "tools/list"))["tools"]
    called = [
        (await ask(server, "tools/call", name=name, arguments={}))["content"][0]["text"]
        for name in ("listed", "method")
    ]

    assert [each["name"] for each in listed] == ["method", "listed"]
    assert called == ["handled", "method"]


async def test_of_a_module_its_own_functions_are_tools() -> None:
    module = types.ModuleType("weather")
    code = """
from os.path import join
def today() -> str:
    "Tell the weather of today."
    return "rain"
def _private() -> str:
    "Private."
def undocumented() -> str: ...
"""
    exec(code, module.__dict__)

    assert list(discovering(module).tools) == ["today"]


@pytest.mark.parametrize("provider", [Base.__new__(type("Empty", (Base,), {})), object(), 5, {}])
def test_an_object_in_which_nothing_is_found_is_refused(provider: object) -> None:
    with pytest.raises(TypeError, match="to discover: no public method that it defines itself has"):
        discovering(provider)


def test_a_class_is_refused() -> None:
    with pytest.raises(TypeError, match=r"include takes an instance: Service\(\), not the class"):
        discovering(Service)


def test_a_server_offers_all_it_has_anyway() -> None:
    with pytest.raises(TypeError, match="discover is for objects: 'other' is a Server"):
        discovering(Server("other", version="1"))


def test_a_method_that_cannot_be_a_tool_is_told_of_and_nothing_is_included() -> None:
    class Wrong:
        def good(self) -> str:
            """Good."""
            return "good"

        def bad(self, *items: int) -> str:
            """Takes what has no schema."""
            return "bad"

    server = Server("discovering", version="1")

    with pytest.raises(TypeError, match=r"tool 'bad': \*items has no schema"):
        server.include(Wrong(), discover=True)
    assert list(server.tools) == []
