"""What `server.attach` takes and gives."""

import atexit
import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self, TypedDict

from ..suggestions import unknown_keyword


class AttachOptions(TypedDict, total=False):
    """The keywords of `server.attach`."""

    socket: str | os.PathLike[str] | None
    init: Callable[[], Any] | None
    stop: Callable[[], Any] | None
    run_on: Any


class _Host(Protocol):
    """The thread that serves."""

    @property
    def clients(self) -> int: ...
    @property
    def is_over(self) -> bool: ...
    def end(self, *, wait: bool = True) -> None: ...


class Attachment:
    """A server that is attached to this process. A `with` block around it detaches at its end."""

    def __init__(self, name: str | None, socket: str, host: _Host) -> None:
        # What `toolhaft attach` finds it by; None if it was given a socket of its own.
        self.name = name
        self.socket = socket
        self._host = host
        atexit.register(host.end)

    @property
    def clients(self) -> int:
        """How many clients are served now."""
        return self._host.clients

    @property
    def attached(self) -> bool:
        """Are clients served, or could they be?"""
        return not self._host.is_over

    def detach(self) -> None:
        """Let all clients go, and serve no more. From any thread; a second time does nothing.

        The name is free at once. Calls that are under way have a moment to finish."""
        atexit.unregister(self._host.end)
        self._host.end(wait=not _is_in_loop())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.detach()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """The loop goes on meanwhile, so that what runs on it can end."""
        import asyncio  # noqa: PLC0415

        atexit.unregister(self._host.end)
        await asyncio.to_thread(self._host.end)

    def __repr__(self) -> str:
        state = f"{self.clients} clients" if self.attached else "detached"
        return f"<Attachment {self.name or self.socket}: {state}>"


def attach(server: Any, name: str | None, options: AttachOptions) -> Attachment:
    """See `Server.attach`."""
    for unknown in options.keys() - AttachOptions.__optional_keys__:
        raise TypeError(unknown_keyword("attach()", unknown, AttachOptions.__annotations__))
    if sys.platform == "win32":
        raise NotImplementedError(
            "attach is not supported on Windows yet: it needs Unix sockets; serve over HTTP there"
        )
    from .attach import attached  # noqa: PLC0415

    return attached(server, name, **options)


def _is_in_loop() -> bool:
    """Would waiting here hold up a loop?"""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None
