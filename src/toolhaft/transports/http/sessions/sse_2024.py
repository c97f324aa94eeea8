"""The transport of 2024-11-05: one stream on which everything comes, one address to post to.

The client opens the stream and is told where to post. Whatever it posts is answered on the stream.
"""

import asyncio
import secrets
from threading import get_ident
from typing import NamedTuple
from urllib.parse import parse_qs

from msgspec import UNSET

from ....calls.connection import Connection
from ....calls.driver import Driver
from ....calls.service import Service, connected
from ....errors import McpError
from ....process.eager_tasks import OutsideTask
from ....protocol.http.headers import Head
from ....protocol.http.rules import Refused, refused, takes, unreadable
from ....protocol.http.sse import KEEP_ALIVE, endpoint, event
from ..body import TurnedAway, received, whole
from ..pending_reply import Reply
from ..refusals import too_busy
from ..respond import watch_listener
from ..response import Receive, Response, Scope


class _Open(NamedTuple):
    """A client that listens."""

    connection: Connection
    # What goes to it, on its stream.
    reply: Reply
    principal: str | None


class Pair:
    """The streams of a service's clients, by the name under which they post."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._limits = service.limits
        self._loop = asyncio.get_running_loop()
        self._open: dict[str, _Open] = {}
        self._ending = False

    async def serve(
        self,
        scope: Scope,
        head: Head,
        principal: str | None,
        response: Response,
        receive: Receive,
    ) -> None:
        """Answer a request.

        Raises:
            TurnedAway: there is no such stream, or no more may be opened.
        """
        if scope["method"] == "GET":
            if not takes(head.raw.get(b"accept"), b"text/event-stream"):
                raise TurnedAway(refused(406, "Accept must have text/event-stream"))
            if len(self._open) >= self._limits.streams:
                raise TurnedAway(refused(503, "too many streams are open", retry_after="5"))
            await self._stream(scope["path"], principal, response, receive)
        elif scope["method"] == "POST":
            await self._post(scope, head, principal, response, receive)
        else:
            raise TurnedAway(refused(405, "GET the stream, POST messages", allow="GET, POST"))

    async def _stream(
        self, path: str, principal: str | None, response: Response, receive: Receive
    ) -> None:
        response.patience.end(response.task)
        reply = Reply(self._loop, get_ident(), self._limits.waiting_bytes)
        reply.writer = response.task
        watcher = self._loop.create_task(watch_listener(receive, reply))
        name = secrets.token_urlsafe(32)
        try:
            async with connected(self._service, reply) as connection:
                self._open[name] = _Open(connection, reply, principal)
                await response.begin()
                await response.write(endpoint(f"{path}?session={name}"))
                await self._pass_on(connection, reply, response)
        except asyncio.CancelledError:
            if not reply.interrupted:
                raise
            response.task.uncancel()
        finally:
            self._open.pop(name, None)
            reply.discard()
            watcher.cancel()

    async def _pass_on(self, connection: Connection, reply: Reply, response: Response) -> None:
        while not (reply.gone or reply.over):
            came = await reply.changed(self._limits.quiet_seconds)
            frames = reply.take()
            if frames or not came:
                reply.held = True
                await response.write(b"".join(map(event, frames)) or KEEP_ALIVE)
                reply.held = False
                reply.writes += 1
            if self._ending and not connection.driver.calls and not reply.frames:
                break
        if not reply.gone:
            await response.write(b"", last=True)

    async def _post(
        self,
        scope: Scope,
        head: Head,
        principal: str | None,
        response: Response,
        receive: Receive,
    ) -> None:
        names = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("session", [])
        name = "".join(names)
        client = self._open.get(name)
        if client is None or client.principal != principal:
            raise TurnedAway(_no_stream())
        most = self._limits.message_bytes
        # Clients of that time take no streams as the answer to a POST.
        refusal = unreadable(head, most, streams=False)
        if refusal is not None:
            raise TurnedAway(refusal)
        response.patience.expect(response.task)
        body = await whole(
            await received(receive), receive, most, response.patient(self._limits.body_seconds)
        )
        response.patience.begin(response.task)
        if name not in self._open:  # any more
            raise TurnedAway(_no_stream())
        if self.calls >= self._limits.all_calls:
            raise TurnedAway(too_busy(UNSET))
        with OutsideTask(self._loop, response.task):
            client.connection.receive(body, principal)
        await response.empty(202)

    @property
    def drivers(self) -> list[Driver]:
        """What runs the calls of each stream."""
        return [client.connection.driver for client in self._open.values()]

    @property
    def busy(self) -> bool:
        """Does anybody wait for an answer?"""
        return self.calls > 0

    @property
    def calls(self) -> int:
        """How many calls are under way."""
        return sum(len(client.connection.driver.calls) for client in self._open.values())

    def end(self) -> None:
        """Let everybody go who waits for nothing, and the others as soon as they have it."""
        self._ending = True
        for client in self._open.values():
            if not client.connection.driver.calls:
                client.reply.close()

    def abandon(self, error: McpError) -> None:
        """Tell everybody who waits that there will be no result."""
        for client in self._open.values():
            client.connection.driver.abandon(error)
            client.reply.close()


def _no_stream() -> Refused:
    return refused(404, "there is no such stream (any more): GET a new one")
