"""What is left out of logs: the values of keys that name a secret, at any depth.

Both logs, that of a server and that of a bridge, take it from here. They read and write JSON each
in their own way.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

# A key that ends with one of these is one of them, too.
REDACTED: Final = (
    "authorization",
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "api_key",
    "private_key",
    "access_key",
    "cookie",
    "credential",
    "credentials",
)
# A field of the protocol, which is no secret.
_HARMLESS: Final = frozenset({"progresstoken"})
# A letter may be written as a number, also in JSON that is a string of other JSON.
_ESCAPED: Final = re.compile(r"\\+u00([2-7][0-9a-fA-F])")
_LEFT_OUT: Final = "[redacted]"


class Secrets:
    """Leaves secrets out.

    Args:
        keys: the keys whose values are secret, whatever their case and with or without `_` and `-`.
        decode: reads JSON.
        encode: writes it.
        unfit: what these raise.
        longest: of text that is no JSON, so much is looked through, and the rest is dropped.
    """

    def __init__(
        self,
        keys: Iterable[str],
        *,
        decode: Callable[[str], Any],
        encode: Callable[[Any], str],
        unfit: tuple[type[Exception], ...],
        longest: int,
    ) -> None:
        self._endings = tuple(_plain(key) for key in keys)
        self._in_text = _keys_in_text(self._endings)
        self._decode, self._encode, self._unfit = decode, encode, unfit
        self._longest = longest

    def cleaned(self, value: Any) -> Any:
        """A value of JSON without them."""
        if isinstance(value, dict):
            fields = cast(dict[str, Any], value)
            return {
                key: _LEFT_OUT if self._is_secret(key) else self.cleaned(each)
                for key, each in fields.items()
            }
        if isinstance(value, list):
            return [self.cleaned(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, str) and value[:1] in ("{", "["):
            return self._cleaned_string(value)
        return value

    def cleaned_text(self, text: str) -> str:
        """What is no JSON, or not all of it, up to the first of them.

        Nothing says where a value ends in what is not well-formed, so all of the rest is left out.
        """
        text = _ESCAPED.sub(_letter, text[: self._longest])
        found = self._in_text.search(text)
        return text if found is None else f"{text[: found.end()]} {_LEFT_OUT}"

    def _cleaned_string(self, text: str) -> str:
        """A string may be JSON itself: the text of a result often is."""
        try:
            value = self._decode(text)
        except self._unfit:
            return self.cleaned_text(text)
        cleaned = self.cleaned(value)
        return text if cleaned == value else self._encode(cleaned)

    def _is_secret(self, key: str) -> bool:
        plain = _plain(key)
        return plain.endswith(self._endings) and plain not in _HARMLESS


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


def _keys_in_text(endings: tuple[str, ...]) -> re.Pattern[str]:
    """A key of a secret, and the first character of what separates it from its value."""
    keys = "|".join("[_-]?".join(map(re.escape, ending)) for ending in endings)
    return re.compile(rf"(?i)(?<!progress)(?<!progress[_-])(?:{keys})\s*(?:[\\\"'`>:=]|%3[ad])")


def _letter(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))
