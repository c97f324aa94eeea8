"""A service over HTTP with a traffic log: the same as without, and each message is written down."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from ...protocol.elicitation.digests import digest
from ...protocol.http.headers import SESSION
from ...protocol.ports import Traffic
from .endpoint import PAIR_SCOPE, Endpoint
from .post import Begun
from .response import Event as Message
from .response import Receive, Scope, Send

# How the line of a message begins in a stream of events; others say nothing of the protocol.
_DATA: Final = (b"data: {", b"data: [")


class LoggedEndpoint(Endpoint):
    """A service over HTTP that logs what comes and goes."""

    def __init__(self, *given: Any, traffic: Traffic, **options: Any) -> None:
        super().__init__(*given, **options)
        self._traffic = traffic

    def expects(self, fields: Iterable[tuple[bytes, bytes]]) -> None:
        """Nothing: what is logged goes by the one way on which all bodies are seen."""

    async def serve(
        self,
        task: "asyncio.Task[Any]",
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        begun: Begun | None = None,
    ) -> None:
        """Serve a request."""
        if scope.get(PAIR_SCOPE):  # its connection logs by itself
            await super().serve(task, scope, receive, send)
            return
        scope = {**scope, "headers": tuple(scope["headers"])}  # which are read twice from now on
        request = _Request(self._traffic, scope, receive, send)
        await super().serve(task, scope, request.receive, request.send)


class _Request:
    """One request, and the bodies on both ways."""

    def __init__(self, traffic: Traffic, scope: Scope, receive: Receive, send: Send) -> None:
        self._traffic = traffic
        self._receive = receive
        self._send = send
        self._name = _name(scope["headers"]) or traffic.connection()
        self._came = b""
        self._goes = b""
        self._is_stream = False

    async def receive(self) -> Message:
        """A part of the body of the request."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._came += message.get("body", b"")
            if self._came and not message.get("more_body"):
                came, self._came = self._came, b""
                self._traffic.message("in", self._name, came)
        return message

    async def send(self, message: Message) -> None:
        """A part of the response."""
        if message["type"] == "http.response.start":
            headers = message["headers"]
            self._is_stream = dict(headers).get(b"content-type", b"").startswith(b"text/event")
            self._name = _name(headers) or self._name
        else:
            self._goes += message.get("body", b"")
            self._log(is_last=not message.get("more_body"))
        await self._send(message)

    def _log(self, *, is_last: bool) -> None:
        if self._is_stream:
            *events, self._goes = self._goes.split(b"\n\n")
            for event in events:
                for line in event.split(b"\n"):
                    if line.startswith(_DATA):
                        self._traffic.message("out", self._name, line[len(_DATA[0]) - 1 :])
        elif is_last and self._goes:
            self._traffic.message("out", self._name, self._goes)


def _name(headers: Any) -> str | None:
    """A name for a session. Its id is as good as a password, so it is not that."""
    for name, value in headers:
        if name == SESSION:
            return f"session-{digest(value)[:8]}"
    return None
