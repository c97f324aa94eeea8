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
        self._in_text = _secrets_in_text(self._endings)
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
        """What is no JSON, or not all of it, without them."""
        return self._in_text.sub(rf"\1{_LEFT_OUT}", text[: self._longest])

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


def _secrets_in_text(endings: tuple[str, ...]) -> re.Pattern[str]:
    """A key and its value, in what is no JSON or not all of it."""
    keys = "|".join("[_-]?".join(map(re.escape, ending)) for ending in endings)
    value = r'"(?:[^"\\]|\\.)*"?|[^\s,;&}\]"]+(?: [^\s,;&}\]"]+)?'
    return re.compile(rf'(?i)((?:{keys})["\']?\s{{0,9}}[:=]\s{{0,9}})(?:{value})')
