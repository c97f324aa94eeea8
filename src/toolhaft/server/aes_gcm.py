"""AES-GCM, if `cryptography` is there, which the extra `[auth]` installs.

The only module that knows it, and loaded by those who have something to hide."""

from importlib import import_module
from typing import Any

from ..protocol.elicitation.request_state import Cipher


class _AesGcm:
    """Encrypts and decrypts, each time with a key of 32 bytes and a nonce of 12."""

    def __init__(self, aead: Any) -> None:
        self._aead = aead

    def encrypt(self, key: bytes, nonce: bytes, data: bytes, beside: bytes) -> bytes:
        """The text that nobody can read, with what nobody can change beside it."""
        encrypted: bytes = self._aead.AESGCM(key).encrypt(nonce, data, beside)
        return encrypted

    def decrypt(self, key: bytes, nonce: bytes, data: bytes, beside: bytes) -> bytes:
        """What was encrypted. Raises ValueError if anything was changed."""
        try:
            decrypted: bytes = self._aead.AESGCM(key).decrypt(nonce, data, beside)
        except import_module("cryptography.exceptions").InvalidTag:
            raise ValueError("the seal is broken") from None
        return decrypted


def find() -> Cipher | None:
    """The cipher, if it is installed."""
    try:
        return _AesGcm(import_module("cryptography.hazmat.primitives.ciphers.aead"))
    except ImportError:
        return None
