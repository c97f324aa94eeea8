"""HTTP/1.1 over a connection of its own for each request: as much as a client for tests needs.

No proxies, no redirects, no connections kept for later; in exchange nothing has to be installed.
"""

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import urlsplit

from ..failures import BadAnswer, ServerGone
from .http_exchange import Response

_LIMIT = 2**26
_CHUNK = 65536


class Sockets:
    """A URL: `http://`, `https://`.

    Args:
        uds: the path of a Unix socket at which the server listens instead of at that host.
        certificate: a file with certificates that are trusted instead of the system's.
    """

    def __init__(
        self,
        url: str,
        *,
        uds: str | os.PathLike[str] | None = None,
        certificate: str | os.PathLike[str] | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ValueError(f"{url!r} is no URL of a server; one begins with http:// or https://")
        self.name = url
        self._host = parts.hostname
        is_tls = parts.scheme == "https"
        self._tls = _trusting(certificate) if is_tls else None
        self._address = (
            self._host,
            parts.port if parts.port is not None else 443 if is_tls else 80,
        )
        self._uds = uds
        self._authority = parts.netloc.rpartition("@")[2]
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    @contextlib.asynccontextmanager
    async def request(
        self, verb: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncGenerator[Response]:
        """One request."""
        try:
            reader, writer = await self._connected()
        except ConnectionRefusedError as error:
            raise ServerGone(f"nothing listens at {self.name}") from error
        except OSError as error:
            raise ServerGone(f"{self.name} cannot be reached: {error}") from error
        try:
            writer.write(self._head(verb, headers, body) + body)
            await writer.drain()
            response = await self._response(reader)
            async with contextlib.aclosing(response.body):
                yield response
        except (ConnectionError, asyncio.IncompleteReadError, EOFError) as error:
            if isinstance(error, ServerGone):
                raise
            raise ServerGone(f"{self.name} has hung up: {error}") from error
        finally:
            await _close(writer)

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_LIMIT, loop=loop)
        protocol = _Protocol(reader, loop=loop)
        tls, name = self._tls, self._host if self._tls is not None else None
        try:
            if self._uds is None:
                made, _ = await loop.create_connection(lambda: protocol, *self._address, ssl=tls)
            else:
                made, _ = await loop.create_unix_connection(
                    lambda: protocol, os.fspath(self._uds), ssl=tls, server_hostname=name
                )
        except asyncio.CancelledError:
            # After the handshake asyncio only begins to close it, which waits for the other side.
            if protocol.made is not None:
                protocol.made.abort()
            raise
        return reader, asyncio.StreamWriter(made, protocol, reader, loop)

    def _head(self, verb: str, headers: Mapping[str, str], body: bytes) -> bytes:
        fields = {"host": self._authority, "connection": "close", **headers}
        if body:
            fields["content-length"] = str(len(body))
        for name, value in fields.items():
            if any(sign in name + value for sign in "\r\n\0"):
                raise ValueError(f"a header cannot hold a line break: {name}: {value!r}")
        lines = [f"{verb} {self._target} HTTP/1.1", *(f"{k}: {v}" for k, v in fields.items())]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    async def _response(self, reader: asyncio.StreamReader) -> Response:
        status = 100
        headers: dict[str, str] = {}
        while 100 <= status < 200:  # these come before the real one
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
            try:
                status = int(first.split(" ")[1])
            except (IndexError, ValueError):
                raise BadAnswer(f"{self.name} does not speak HTTP: {first!r:.200}") from None
            pairs = (line.partition(":") for line in lines)
            headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        return Response(status, headers, _body(reader, status, headers))


class _Protocol(asyncio.StreamReaderProtocol):
    """The protocol of a connection, which keeps the transport as soon as there is one."""

    made: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:
        """The connection is open; over TLS, the handshake is done."""
        self.made = transport
        super().connection_made(transport)


async def _close(writer: asyncio.StreamWriter) -> None:
    """Close a connection; at once if this is cancelled, for over TLS it waits for the other side's
    goodbye, and would be left open."""
    writer.close()
    try:
        await writer.wait_closed()
    except OSError:
        pass
    except asyncio.CancelledError:
        writer.transport.abort()
        raise


def _trusting(certificate: str | os.PathLike[str] | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=certificate)
    except OSError as error:
        raise ValueError(f"the certificate {certificate!s} cannot be used: {error}") from None


async def _body(
    reader: asyncio.StreamReader, status: int, headers: Mapping[str, str]
) -> AsyncGenerator[bytes]:
    if status in (204, 304):
        return
    if headers.get("transfer-encoding", "").lower().endswith("chunked"):
        while size := _number((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
    elif "content-length" in headers:
        if length := _number(headers["content-length"]):
            yield await reader.readexactly(length)
    else:
        while data := await reader.read(_CHUNK):
            yield data


def _number(text: str | bytes, base: int = 10) -> int:
    try:
        return int(text, base)
    except ValueError:
        raise BadAnswer(f"a length over HTTP is none: {text!r:.80}") from None
