"""Where to listen: `HOST:PORT`, or the path of a Unix socket."""

from typing import NamedTuple


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Can only this machine reach it?"""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    @property
    def is_everywhere(self) -> bool:
        """Is it no name that a client could use?"""
        return self.host in ("0.0.0.0", "::")

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class UnixPath(NamedTuple):
    """A socket in the file system."""

    path: str

    def __str__(self) -> str:
        return f"unix:{self.path}"


def address(text: str) -> Address | UnixPath:
    """What `HOST:PORT`, `[V6]:PORT`, `:PORT`, `PORT` or `unix:PATH` means; without a host, it is
    this machine only.

    Raises:
        ValueError: it means nothing.
    """
    if text.startswith("unix:") and len(text) > len("unix:"):
        return UnixPath(text.removeprefix("unix:"))
    host, colon, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    is_port = port.isascii() and port.isdigit() and len(port) < 6 and int(port) < 65536
    if not is_port or (bare is host and ":" in host) or (bare is not host and ":" not in bare):
        raise ValueError(f"{text!r} is no address; say HOST:PORT, as in 127.0.0.1:8000")
    return Address(bare if colon and bare else "127.0.0.1", int(port))
