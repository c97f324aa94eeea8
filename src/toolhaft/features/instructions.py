"""The instructions of a server: its own, which may change, and those of the servers in it."""

from collections.abc import Callable
from functools import partial

from msgspec import UNSET, UnsetType

from .author_checks import check_described
from .providers.prefix import Prefix


class Instructions:
    """What clients are told of how to use a server. Everything from any thread."""

    __slots__ = ("_own", "_parts")

    def __init__(self, own: str | None) -> None:
        self._own = own
        # Of each included server, under its prefix, in their order. Putting one in and taking one
        # out are single steps, so that no thread undoes what another one has done.
        self._parts: dict[_Part, None] = {}

    @property
    def own(self) -> str | None:
        """What the author of this server says; None is nothing."""
        return self._own

    @own.setter
    def own(self, text: str | None) -> None:
        check_described("Server", instructions=text)
        self._own = text

    def include(self, other: "Instructions", prefix: Prefix) -> Callable[[], None]:
        """Add what another server says, now and later; the result takes it away again."""
        part = _Part(other, prefix)
        self._parts[part] = None
        return partial(self._parts.pop, part, None)

    def whole(self) -> str | None:
        """All of it, as clients get it now: a paragraph for each server that says something."""
        own = self._own
        told = [text for part in list(self._parts) if (text := part.text())]
        if not told:
            return own
        return "\n\n".join([own, *told] if own else told)

    def wire(self) -> str | UnsetType:
        """The same, as it is sent: an empty text is, nothing is not."""
        text = self.whole()
        return UNSET if text is None else text


class _Part:
    """What an included server says."""

    __slots__ = ("_of", "_prefix")

    def __init__(self, of: Instructions, prefix: Prefix) -> None:
        self._of = of
        self._prefix = prefix

    def text(self) -> str | None:
        """Its words, which name things without the prefix that they have here."""
        text, prefix = self._of.whole(), self._prefix.name("")
        if not text or not prefix:
            return text
        return f"About the tools and prompts whose names begin with {prefix} here:\n{text}"
