"""Find out whether a call that runs again does something again."""

from collections.abc import Mapping
from typing import Any

from ..protocol.revisions import SUPPORTED
from ..server.server import Server
from .answers import Answers
from .call_recorder import Act, Acts, watched
from .play_call import Played, play_call


class DoneTwice(AssertionError):
    """A call did something in more than one round, and not in a step."""


async def acts_once(
    server: Server,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    answers: Answers | None = None,
    acts: Acts,
) -> Played:
    """Play a call by rounds, and watch what it must not do in more than one of them.

    Args:
        acts: where to look: an object, a class or a module, and the name of its function, as in
            `[(mailer, "send")]`. Whoever calls it outside of a step, and in a later round again
            with the same, does it twice.

    Raises:
        DoneTwice: it does; the message says what.
    """
    played = Played([])
    with watched(acts, lambda: played.rounds) as done:
        await play_call(server, tool, arguments, answers, revision=SUPPORTED[0], played=played)
    if twice := _twice([act for act in done if not act.is_step]):
        raise DoneTwice(
            f"{tool} did this in {played.rounds} rounds: {'; '.join(twice)}; ask first and act "
            "after, or act in ctx.step(…)"
        )
    return played


def _twice(acts: list[Act]) -> list[str]:
    """What was done in more than one round."""
    rounds: list[tuple[Act, set[int]]] = []
    for act in acts:
        for first, seen in rounds:
            if first.is_same(act):
                seen.add(act.round)
                break
        else:
            rounds.append((act, {act.round}))
    return [f"{act.words}, in {len(seen)} rounds" for act, seen in rounds if len(seen) > 1]
