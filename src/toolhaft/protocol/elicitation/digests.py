"""Digests and signatures. What computes them takes as long to load as a server to start, so it is
loaded by those who ask their clients, and when they do."""

_SHORT = 16


def digest(data: bytes) -> str:
    """A short name for some bytes, which no others have."""
    from hashlib import sha256  # noqa: PLC0415

    return to_text(sha256(data).digest()[:_SHORT])


def signature(key: bytes, data: bytes) -> bytes:
    """HMAC with SHA-256."""
    from hmac import digest  # noqa: PLC0415

    return digest(key, data, "sha256")


def is_same(one: bytes, other: bytes) -> bool:
    """Are they equal? It takes the same time, whatever the answer."""
    from hmac import compare_digest  # noqa: PLC0415

    return compare_digest(one, other)


def to_text(data: bytes) -> str:
    """Base64 for URLs, without padding."""
    from binascii import b2a_base64  # noqa: PLC0415

    return b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL).decode()


def from_text(text: str) -> bytes:
    """The bytes again. Raises ValueError for what is not spelled as we spell it."""
    from binascii import a2b_base64  # noqa: PLC0415

    data = a2b_base64(text.encode("ascii").translate(_FROM_URL) + b"=" * (-len(text) % 4))
    if to_text(data) != text:
        raise ValueError("not spelled as it should be")
    return data


_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_", b"+/")
