"""Redacts secrets in logs: the values of keys that name a secret, at any depth.

Used by the traffic logs of servers and bridges. Each passes its own JSON decoder and encoder.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

# A key is secret if it ends with one of these.
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
# Keys of the protocol that are not secret despite their ending.
_HARMLESS: Final = frozenset({"progresstoken"})
# An escaped ASCII character, also in JSON that is nested in JSON strings.
_ESCAPED: Final = re.compile(r"\\+u00([2-7][0-9a-fA-F])")
_LEFT_OUT: Final = "[redacted]"


class Secrets:
    """Redacts secrets in JSON values and in text.

    Args:
        keys: endings of keys whose values are secret. Case, `_` and `-` do not matter.
        decode: decodes JSON.
        encode: encodes JSON.
        unfit: the exceptions that these raise for invalid input.
        longest: characters of text that are searched if it is not JSON; the rest is dropped.
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
        """Return a JSON value with its secrets redacted."""
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
        """Return text that is not valid JSON, up to the first secret.

        In malformed text the end of a value cannot be found, so all text after it is dropped.
        """
        text = _ESCAPED.sub(_letter, text[: self._longest])
        found = self._in_text.search(text)
        return text if found is None else f"{text[: found.end()]} {_LEFT_OUT}"

    def _cleaned_string(self, text: str) -> str:
        """Redact a string that may itself be JSON, as the text of a result often is."""
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
    """Compile a pattern for a secret key and the first character of its separator."""
    keys = "|".join("[_-]?".join(map(re.escape, ending)) for ending in endings)
    return re.compile(rf"(?i)(?<!progress)(?<!progress[_-])(?:{keys})\s*(?:[\\\"'`>:=]|%3[ad])")


def _letter(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))
