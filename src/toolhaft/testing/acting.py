"""Find out whether a call that runs again does something again."""

import inspect
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

from ..server import Server
from .playing import Answers, Played, play


class DoneTwice(AssertionError):
    """A call did something in more than one round, and not in a step."""


async def acts_once(
    server: Server,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    answers: Answers | None = None,
    acts: Sequence[tuple[Any, str]],
) -> Played:
    """Play a call by rounds, and watch what it must not do twice.

    Args:
        acts: where to look: an object or a module, and the name of its function, as in
            `[(mailer, "send")]`. Whoever calls it with the same arguments again does it twice.

    Raises:
        DoneTwice: it does; the message says what.
    """
    done: Counter[str] = Counter()
    with ExitStack() as stack:
        for owner, name in acts:
            stack.enter_context(_watched(owner, name, done))
        played = await play(server, tool, arguments, answers=answers)
    twice = [f"{act}, {count} times" for act, count in done.items() if count > 1]
    if twice:
        raise DoneTwice(
            f"{tool} did this in {played.rounds} rounds: {'; '.join(twice)}; ask first and act "
            "after, or act in ctx.step(…)"
        )
    return played


@contextmanager
def _watched(owner: Any, name: str, done: "Counter[str]") -> Generator[None]:
    function: Callable[..., Any] = getattr(owner, name)

    def note(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        given = [*map(repr, args), *(f"{key}={value!r}" for key, value in kwargs.items())]
        done[f"{name}({', '.join(given)})"] += 1

    @wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        note(args, kwargs)
        return await function(*args, **kwargs)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        note(args, kwargs)
        return function(*args, **kwargs)

    own = name in vars(owner)
    setattr(owner, name, awaited if inspect.iscoroutinefunction(function) else called)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, function)
        else:
            delattr(owner, name)
