"""What calls do is watched: which acts are the same."""

from typing import Any

import pytest
from tests.testing.mailing import made

from toolhaft import Context
from toolhaft.testing import DoneTwice, acts_once


class Mail:
    """Without words of its own."""

    def __init__(self, to: str) -> None:
        self.to = to


class Post:
    @staticmethod
    def send(to: Any) -> Any:
        return to

    @classmethod
    def pack(cls, to: Any) -> Any:
        return cls, to

    def stamp(self, to: Any) -> Any:
        return self, to


class Express(Post):
    pass


async def test_the_same_act_is_found_whatever_its_arguments_look_like() -> None:
    kept: list[Mail] = []

    async def tool(ctx: Context) -> str:
        kept.append(Mail("ann"))
        Post.send(kept[-1])
        await ctx.elicit("Sure?", bool)
        return "sent"

    with pytest.raises(DoneTwice, match="send"):
        await acts_once(made(tool), "tool", answers={"Sure?": True}, acts=[(Post, "send")])


async def test_different_acts_are_told_apart_whatever_their_arguments_look_like() -> None:
    async def tool(ctx: Context) -> str:
        if ctx.round == 1:
            Post.send(Mail("ann"))
        await ctx.elicit("Sure?", bool)
        Post.send(Mail("bob"))
        return "sent"

    await acts_once(made(tool), "tool", answers={"Sure?": True}, acts=[(Post, "send")])


@pytest.mark.parametrize("owner", [Post, Express])
@pytest.mark.parametrize("name", ["send", "pack", "stamp"])
async def test_what_was_watched_is_as_it_was_before(owner: Any, name: str) -> None:
    before = dict(vars(owner))
    told: list[Any] = []

    async def tool() -> str:
        told.append(getattr(owner(), name)(5))
        return "sent"

    await acts_once(made(tool), "tool", acts=[(owner, name)])

    assert dict(vars(owner)) == before
    [given] = told
    assert given == 5 if name == "send" else given[1] == 5
    if name == "pack":
        assert given[0] is owner
