"""How the names of what is included are joined with a prefix, so that every client takes them."""

from typing import TypeVar

from ...lazy_regex import pattern

T = TypeVar("T")

# Letters, digits, '_' and '-' are what every client takes in the name of a tool; a URI has to
# begin with a letter.
_PREFIX = pattern(r"[A-Za-z][A-Za-z0-9_-]{0,31}")


class Prefix:
    """What stands before the names of what is included; with None they stay as they are.

    A tool or a prompt `log` becomes `git_log`, a resource `notes://all` becomes
    `git+notes://all`: of a URI nothing but the scheme changes, so templates stay templates.

    Raises:
        ValueError: it cannot be part of a name.
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
        """The name of a tool or a prompt, as clients see it."""
        return self._name + name if self._name else name

    def uri(self, uri: str) -> str:
        """A URI or a template, as clients see it."""
        return self._scheme + uri

    def own_name(self, joined: str) -> str | None:
        """The name that whoever is included has for it, if this is one of theirs."""
        return joined[len(self._name) :] if joined.startswith(self._name) else None

    def own_uri(self, joined: str) -> str | None:
        """The same for a URI or a template."""
        return joined[len(self._scheme) :] if joined.startswith(self._scheme) else None

    @property
    def length(self) -> int:
        """How much of a URI whoever is included does not know."""
        return len(self._scheme)


def twin(item: T) -> T:
    """The same thing once more, to be offered under another name."""
    from copy import copy  # noqa: PLC0415

    return copy(item)
