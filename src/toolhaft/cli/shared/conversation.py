"""The client that the commands are: it speaks the protocol as any other, wherever the server is."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from ...about import __version__
from ...client.channel import Hear
from ...client.conversation import Conversation as Talk
from ...client.failures import BadAnswer
from ...client.json_shapes import as_list
from ...client.transport import Transport
from .question_prompts import Answers

Json: TypeAlias = dict[str, Any]

_CLIENT = {"name": "toolhaft", "version": __version__}
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

    def instructions(self) -> str:
        """What the server says of its use to a model; empty if nothing."""
        return str(self._talk.instructions or "")

    async def all_of(self, method: str, member: str) -> list[Json]:
        """The entries of a list, from all of its pages."""
        return await self._talk.all_of(method, member)


@asynccontextmanager
async def conversation(
    transport: Transport, revision: str | None, hear: Hear, answers: Answers
) -> AsyncGenerator[Conversation]:
    """A conversation that lasts as long as the block.

    Args:
        revision: the date of what is spoken; None for the newest that the server speaks.
        hear: gets the method and the parameters of each notification.
        answers: to what the server asks.
    """
    talk = Talk(
        transport,
        revision=revision,
        info=_CLIENT,
        capabilities=answers.capabilities,
        answer=answers.answer,
        hear=hear,
        level=_LEVEL,
    )
    try:
        await talk.begin()
        yield Conversation(talk)
    finally:
        await talk.end()


def member(result: Json, name: str) -> list[Json]:
    """A list that a result must have.

    Raises:
        BadAnswer: it has none.
    """
    found = as_list(result.get(name))
    if found is None:
        raise BadAnswer(f"the server's result has no list {name!r}: {result!r:.200}")
    return found


def _heard_as_notice(done: float, total: float | None, message: str | None) -> None:
    """It is asked for; `hear` tells it with all the rest."""
