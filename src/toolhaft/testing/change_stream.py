"""Hear of changes, in either era: a subscription, or what a session is told."""

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from ..client.conversation import Conversation
from ..client.failures import NoAnswer, ServerGone
from ..client.request_meta import SUBSCRIPTION
from ..client.responses import result_of
from .requests import wished

Json: TypeAlias = dict[str, Any]

_LISTS = {"tools", "prompts", "resources"}
_UPDATED = "notifications/resources/updated"
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class Notice(Struct):
    """A notification."""

    method: str
    params: Json

    @property
    def uri(self) -> str | None:
        """Which resource it is about."""
        return self.params.get("uri")


class Heard:
    """Changes, in the order in which they were told."""

    def __init__(self, talk: Conversation, wanted: str) -> None:
        self._talk = talk
        self._wanted = wanted
        self._notices: asyncio.Queue[Notice] = asyncio.Queue()
        # What the server has agreed to tell; in a session it tells what it has.
        self.agreed: Json | None = None
        # Ends with the subscription, if it is one.
        self.listening: asyncio.Task[Json] | None = None

    async def next(self, timeout: float | None = None) -> Notice:
        """The next change.

        Raises:
            NoAnswer: there is none in time.
            ServerGone: there will be none.
        """
        if not self._notices.empty():
            return self._notices.get_nowait()
        seconds = self._talk.timeout if timeout is None else timeout
        taking = asyncio.ensure_future(self._notices.get())
        try:
            with self._talk.failing() as failing:
                ends = {failing, *filter(None, [self.listening])}
                limit = None if seconds == math.inf else seconds
                await asyncio.wait(
                    {taking, *ends}, timeout=limit, return_when=asyncio.FIRST_COMPLETED
                )
                if taking.done():
                    return taking.result()
                if failing.done():
                    failing.result()
        finally:
            taking.cancel()
        if self.listening is not None and self.listening.done():
            result_of(self.listening.result(), "subscriptions/listen")
            raise ServerGone(f"the server has ended the subscription to {self._wanted}")
        problem = f"nothing heard of {self._wanted} within {seconds:g} seconds"
        raise NoAnswer(self._talk.told(problem))

    def so_far(self) -> list[Notice]:
        """What has been told and not been taken yet, without waiting."""
        found: list[Notice] = []
        while not self._notices.empty():
            found.append(self._notices.get_nowait())
        return found

    def __aiter__(self) -> "Heard":
        return self

    async def __anext__(self) -> Notice:
        return await self.next()

    def take(self, method: str, params: Json) -> None:
        """Another one."""
        self._notices.put_nowait(Notice(method, params))


@contextlib.asynccontextmanager
async def hearing(
    talk: Conversation, *, tools: bool, prompts: bool, resources: bool, uris: Sequence[str]
) -> AsyncGenerator[Heard]:
    """Hear of changes for as long as the block lasts."""
    lists = {"tools": tools, "prompts": prompts, "resources": resources}
    kinds = [name for name in sorted(_LISTS) if lists[name]]
    methods = {f"notifications/{kind}/list_changed" for kind in kinds} | {_UPDATED}
    heard = Heard(talk, ", ".join([*kinds, *uris]) or "anything")
    if talk.revision.handshake:
        async with _of_session(talk, heard, methods, uris):
            yield heard
    else:
        wishes = wished(tools=tools, prompts=prompts, resources=resources, uris=uris)
        async with _of_subscription(talk, heard, wishes):
            yield heard


@contextlib.asynccontextmanager
async def _of_session(
    talk: Conversation, heard: Heard, methods: set[str], uris: Sequence[str]
) -> AsyncGenerator[None]:
    def take(method: str, params: Json) -> None:
        if method in methods:
            heard.take(method, params)

    leave = await talk.listen(take)
    try:
        for uri in uris:
            await talk.request("resources/subscribe", {"uri": uri})
        yield
        for uri in uris:
            await talk.request("resources/unsubscribe", {"uri": uri})
    finally:
        leave()


@contextlib.asynccontextmanager
async def _of_subscription(talk: Conversation, heard: Heard, wishes: Json) -> AsyncGenerator[None]:
    id_ = talk.next_id()
    begun: asyncio.Future[Json] = asyncio.get_running_loop().create_future()

    def take(method: str, params: Json) -> None:
        if params.get("_meta", {}).get(SUBSCRIPTION) != id_:
            return
        if method != _ACKNOWLEDGED:
            heard.take(method, params)
        elif not begun.done():
            begun.set_result(params.get("notifications", {}))

    params = {"notifications": wishes, "_meta": talk.envelope()}
    message = {"jsonrpc": "2.0", "id": id_, "method": "subscriptions/listen", "params": params}
    leave = await talk.listen(take)
    listening = asyncio.create_task(talk.exchange(message, timeout=math.inf))
    heard.listening = listening
    try:
        heard.agreed = await _first(begun, listening, talk)
        yield
    finally:
        leave()
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def _first(
    begun: "asyncio.Future[Json]", listening: "asyncio.Task[Json]", talk: Conversation
) -> Json:
    """What the server agrees to; or its refusal."""
    await asyncio.wait(
        {begun, listening}, timeout=talk.timeout, return_when=asyncio.FIRST_COMPLETED
    )
    if begun.done():
        return begun.result()
    if listening.done():
        return result_of(listening.result(), "subscriptions/listen")
    problem = f"subscriptions/listen: not acknowledged within {talk.timeout:g} seconds"
    raise NoAnswer(talk.told(problem))
