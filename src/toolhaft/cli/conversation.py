"""A client in the same process: real frames, and the protocol as any client speaks it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from ..client.conversation import Conversation as Talk
from ..client.conversation import Hear
from ..client.memory import InMemory
from ..protocol.revisions import Revision
from ..runtime.service import Service

Json: TypeAlias = dict[str, Any]

_CLIENT = {"name": "toolhaft", "version": "0.0.0"}
_LEVEL = "debug"


class Conversation:
    """Requests and their answers, one after the other, with one server."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    async def request(self, method: str, params: Json) -> Json:
        """Ask, and wait for the result. Cancelled while it waits, it cancels the request.

        Raises:
            McpError: the server refuses.
        """
        return await self._talk.request(method, params, progress=_heard_as_notice)

    def capabilities(self) -> Json:
        """What the server offers."""
        return self._talk.capabilities

    async def all_of(self, method: str, member: str) -> list[Json]:
        """The entries of a list, from all of its pages."""
        return await self._talk.all_of(method, member)


@asynccontextmanager
async def conversation(
    service: Service, revision: Revision, hear: Hear
) -> AsyncGenerator[Conversation]:
    """A conversation that lasts as long as the block, within the service's lifespan.

    Args:
        hear: gets the method and the parameters of each notification.
    """
    talk = Talk(InMemory(service), revision=revision.date, info=_CLIENT, hear=hear, level=_LEVEL)
    try:
        await talk.begin()
        yield Conversation(talk)
    finally:
        await talk.end()


def _heard_as_notice(done: float, total: float | None, message: str | None) -> None:
    """It is asked for; `hear` tells it with all the rest."""
