"""One HTTP request and its response, as the client of the protocol needs to know it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct


class Response(Struct):
    """The head of a response, and its body as it comes. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: AsyncGenerator[bytes]

    async def read(self) -> bytes:
        """All of the body."""
        return b"".join([part async for part in self.body])


class Exchanges(Protocol):
    """Whatever answers HTTP requests at one URL."""

    @property
    def name(self) -> str:
        """How an error calls it."""
        ...

    async def open(self) -> None: ...

    def request(
        self, verb: str, headers: Mapping[str, str], body: bytes
    ) -> AbstractAsyncContextManager[Response]:
        """Send a request; leaving the block before the end of the body closes its connection."""
        ...

    async def close(self) -> None: ...
