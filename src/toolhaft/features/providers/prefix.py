"""Prefixes of included names, within the characters that all clients accept."""

from typing import TypeVar

from ...lazy_regex import pattern

T = TypeVar("T")

# All clients accept letters, digits, '_' and '-' in the name of a tool; a URI has to begin with a
# letter.
_PREFIX = pattern(r"[A-Za-z][A-Za-z0-9_-]{0,31}")


class Prefix:
    """A prefix of names and URIs; None leaves them unchanged.

    A tool or a prompt `log` becomes `git_log`, a resource `notes://all` becomes
    `git+notes://all`: only the scheme of a URI changes, so templates stay valid.

    Raises:
        ValueError: the prefix is invalid.
    """

    __slots__ = ("_name", "_scheme")

    def __init__(self, text: str | None) -> None:
        if text is not None and not (isinstance(text, str) and _PREFIX.fullmatch(text)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"prefix={text!r}: take a letter, then letters, digits, '_' and '-', at most 32"
            )
        self._name = "" if text is None else f"{text}_"
        # A scheme has no underscores.
        self._scheme = "" if text is None else f"{text.lower().replace('_', '-')}+"

    def name(self, name: str) -> str:
        """Return the prefixed name of a tool or a prompt."""
        return self._name + name if self._name else name

    def uri(self, uri: str) -> str:
        """Return the prefixed URI or template."""
        return self._scheme + uri

    def own_name(self, joined: str) -> str | None:
        """Return a name without the prefix; None if it does not have it."""
        return joined[len(self._name) :] if joined.startswith(self._name) else None

    def own_uri(self, joined: str) -> str | None:
        """Return a URI or a template without the prefix; None if it does not have it."""
        return joined[len(self._scheme) :] if joined.startswith(self._scheme) else None

    @property
    def length(self) -> int:
        """Length of the prefix of a URI in characters."""
        return len(self._scheme)


def twin(item: T) -> T:
    """Return a shallow copy of an item, to be renamed."""
    from copy import copy  # noqa: PLC0415

    return copy(item)
