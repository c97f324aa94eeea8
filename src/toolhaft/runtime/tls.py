"""The files by which a server shows who it is."""

from typing import NamedTuple


class Tls(NamedTuple):
    """A certificate and its key, as files in PEM."""

    certificate: str
    key: str
    password: str | None = None
