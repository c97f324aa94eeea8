"""`requestState`: what a client carries for us from round to round, and cannot change.

Whatever comes back is bound to the call it was made for: to the server, the principal, the method,
what it names and its arguments, and for a while only. One error stands for all that may be wrong
with it; the reason is for our log.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import msgspec
from msgspec import Raw, Struct, UnsetType

from ...encoding.envelope import encode
from ...errors import InternalError, InvalidParams
from .digests import digest, from_text, is_same, signature, to_text
from .rounds import Pages

# How a state is sealed: it can be read, but not changed; or not even read.
_SIGNED, _HIDDEN = "v1", "v2"
_NONCE = 12
_PURPOSE = b"toolhaft requestState"
# How far the clocks of two hosts may be apart.
_SKEW = 60
# Clients store it and send it back: it should stay small.
_LARGEST = 64 * 1024


class Cipher(Protocol):
    """Hides what a client carries for us."""

    def encrypt(self, key: bytes, nonce: bytes, data: bytes, beside: bytes, /) -> bytes: ...
    def decrypt(self, key: bytes, nonce: bytes, data: bytes, beside: bytes, /) -> bytes: ...


class Binding(Struct, array_like=True, frozen=True):
    """The call that a state belongs to."""

    audience: str
    principal: str
    method: str
    target: str
    arguments: str


class _Claims(Struct, array_like=True):
    issued: int
    expires: int
    binding: Binding
    pages: Pages


class _Broken(Exception):
    """Why a state is not accepted."""


_encode_sorted = msgspec.json.Encoder(order="sorted").encode
# A float has 15 to 17 digits, and a parameter may be a `Decimal`, which has all. So a number is
# compared by its text.
_decode_exactly = msgspec.json.Decoder(float_hook=lambda text: Raw(text.encode())).decode


class Seal:
    """Writes states and reads them again.

    Args:
        secrets: the first seals, all of them open: so that a secret can be changed while calls
            are under way.
        seconds: for how long a state is good.
        clock: seconds since 1970.
        random: so many bytes that nobody can guess.
        cipher: what hides a state from its client, if there is one.
        refused: is told why a state was not accepted.
    """

    def __init__(
        self,
        secrets: Sequence[bytes],
        audience: str,
        *,
        seconds: float,
        clock: Callable[[], float],
        random: Callable[[int], bytes],
        cipher: Callable[[], Cipher | None],
        refused: Callable[[str], None],
    ) -> None:
        self._secrets = secrets
        self._audience = audience
        self._seconds = seconds
        self._clock = clock
        self._random = random
        self._find_cipher = cipher
        self._refused = refused
        self._keys: dict[str, bytes] = {}

    @cached_property
    def _cipher(self) -> Cipher | None:
        return self._find_cipher()

    @property
    def hides(self) -> bool:
        """Can a client not read what it carries?"""
        return self._cipher is not None

    def binding(
        self,
        method: str,
        target: str,
        arguments: Any,
        principal: str | None,
    ) -> Binding:
        """What a state of this call is bound to."""
        return Binding(
            self._audience,
            "" if principal is None else digest(principal.encode("utf-8", "surrogatepass")),
            method,
            target,
            digest(_canonical(arguments)),
        )

    def seal(self, binding: Binding, pages: Pages) -> str:
        """The state for the next round.

        Raises:
            InternalError: it would be too large.
        """
        now = int(self._clock())
        claims = _Claims(now, now + int(self._seconds), binding, pages)
        name, key = next(iter(self._ring().items()))
        state = self._closed(name, key, encode(claims))
        if len(state) > _LARGEST:
            raise InternalError(
                f"the answers of this call do not fit into {_LARGEST} bytes of requestState; ask "
                "for less"
            )
        return state

    def _closed(self, name: str, key: bytes, text: bytes) -> str:
        if self._cipher is None:
            body = f"{_SIGNED}.{name}.{to_text(text)}"
            return f"{body}.{to_text(signature(key, body.encode()))}"
        head, nonce = f"{_HIDDEN}.{name}", self._random(_NONCE)
        hidden = self._cipher.encrypt(key, nonce, text, head.encode())
        return f"{head}.{to_text(nonce)}.{to_text(hidden)}"

    def open(self, state: Raw, binding: Binding) -> Pages:
        """What a state says.

        Raises:
            InvalidParams: it is not one of ours, not of this call, or too old.
        """
        try:
            return self._opened(state, binding)
        except _Broken as error:
            self._refused(str(error))
        except (ValueError, msgspec.MsgspecError, RecursionError):
            self._refused("not one of ours")
        raise InvalidParams("invalid or expired requestState")

    def _opened(self, raw: Raw, binding: Binding) -> Pages:
        if len(raw) > _LARGEST + 2:
            raise _Broken("too long")
        state = msgspec.json.decode(raw, type=str)
        claims = msgspec.json.decode(self._text(state), type=_Claims)
        now = self._clock()
        if claims.expires < now:
            raise _Broken("expired")
        if claims.issued > now + _SKEW:
            raise _Broken("issued in the future")
        if claims.binding != binding:
            raise _Broken("made for another call")
        return claims.pages

    def _text(self, state: str) -> bytes:
        how, name, first, second = state.split(".")
        key = self._ring().get(name)
        if key is None:
            raise _Broken("sealed by somebody else, or with a secret that is not known any more")
        if how == _SIGNED:
            body = f"{how}.{name}.{first}"
            if not is_same(signature(key, body.encode()), from_text(second)):
                raise _Broken("the seal is broken")
            return from_text(first)
        if how != _HIDDEN or self._cipher is None:
            raise _Broken("sealed in a way that is not known here")
        head = f"{how}.{name}".encode()
        nonce, hidden = from_text(first), from_text(second)
        try:
            return self._cipher.decrypt(key, nonce, hidden, head)
        except ValueError:
            raise _Broken("the seal is broken") from None

    def _ring(self) -> dict[str, bytes]:
        if not self._keys:
            keys = [signature(secret, _PURPOSE) for secret in self._secrets]
            self._keys = {digest(b"name" + key)[:6]: key for key in keys}
        return self._keys


def _canonical(arguments: Any) -> bytes:
    """The same text for the same arguments, whatever their order and spacing."""
    if isinstance(arguments, Raw):
        try:
            arguments = _decode_exactly(arguments)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return bytes(arguments)  # which no tool can read, so nothing is ever asked about them
    if arguments is None or isinstance(arguments, UnsetType):
        arguments = {}
    return _encode_sorted(arguments)
