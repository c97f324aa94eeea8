"""Call an author's function, wherever it has to run, and turn its value into a result."""

from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

from ..protocol.calls import Blocking, Outcome, Result

Finish = Callable[[Any], Result]
Failed = Callable[[BaseException], Result]


def unchanged(error: BaseException) -> NoReturn:
    """What most features do with a failure: leave it to the connection."""
    raise error


def called(
    function: Callable[..., Any],
    arguments: dict[str, Any],
    *,
    is_async: bool,
    inline: bool = False,
    finish: Finish,
    failed: Failed = unchanged,
) -> Outcome:
    """The outcome of the call. Both ways guard the author's code and the encoding of its value:
    whatever is raised, SystemExit and its like included, reaches `failed` and nobody else."""
    if is_async:
        return _awaited(function, arguments, finish, failed)

    def work() -> Result:
        try:
            return finish(function(**arguments))
        except BaseException as error:
            return failed(error)

    return Blocking(work, inline)


async def _awaited(
    function: Callable[..., Awaitable[Any]],
    arguments: dict[str, Any],
    finish: Finish,
    failed: Failed,
) -> Result:
    try:
        return finish(await function(**arguments))
    except BaseException as error:
        return failed(error)
