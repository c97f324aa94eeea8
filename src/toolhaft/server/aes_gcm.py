"""AES-GCM of the optional package `cryptography`, which the extra `[auth]` installs.

The only module that imports `cryptography`; imported with the first request state."""

from importlib import import_module
from typing import Any

from ..protocol.elicitation.request_state import Cipher


class _AesGcm:
    """AES-256-GCM with a key of 32 bytes and a nonce of 12 bytes per operation."""

    def __init__(self, aead: Any) -> None:
        self._aead = aead

    def encrypt(self, key: bytes, nonce: bytes, data: bytes, beside: bytes) -> bytes:
        """Encrypt `data`; authenticate `beside` without encrypting it."""
        encrypted: bytes = self._aead.AESGCM(key).encrypt(nonce, data, beside)
        return encrypted

    def decrypt(self, key: bytes, nonce: bytes, data: bytes, beside: bytes) -> bytes:
        """Decrypt `data`. Raises ValueError if `data` or `beside` was changed."""
        try:
            decrypted: bytes = self._aead.AESGCM(key).decrypt(nonce, data, beside)
        except import_module("cryptography.exceptions").InvalidTag:
            raise ValueError("the seal is broken") from None
        return decrypted


def find() -> Cipher | None:
    """Return the cipher, or None if `cryptography` is not installed."""
    try:
        return _AesGcm(import_module("cryptography.hazmat.primitives.ciphers.aead"))
    except ImportError:
        return None
