"""Asks the author's guard which principal is behind a request."""

import inspect
from typing import Any

from ...errors import Unauthorized, clipped
from ...process.outcome import ends_task
from ...protocol.http.headers import Head
from ...protocol.ports import Guard
from .response import Response


class WrongPrincipal(Exception):
    """A guard returned something that is no principal. The log says what; the client is told that
    much only."""

    for_client = "it returned something that names no principal"


class GuardFailed(Exception):
    """A guard raised something else than `Unauthorized`. Its class says nothing of the connection:
    an `OSError` of a guard is not that of a client that has left."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


async def principal_of(guard: Guard, head: Head, response: Response) -> str:
    """The principal of a request.

    Raises:
        Unauthorized: the guard knows none.
        GuardFailed: the guard has a fault.
    """
    try:
        found: Any = guard(head)
        if inspect.isawaitable(found):
            response.patience.end(response.task)  # it is not the client that is waited for
            found = await found
            response.patience.begin(response.task)
    except Unauthorized:
        raise
    except BaseException as error:
        if ends_task(error):
            raise
        raise GuardFailed(error) from error
    if found is None:
        raise Unauthorized
    if not isinstance(found, str):
        raise GuardFailed(
            WrongPrincipal(
                f"it returned {clipped(repr(found))}; a guard returns the name of the principal as "
                "a str, such as the subject of a token, or None to refuse the request, or raises "
                "Unauthorized, which can tell the client what to send"
            )
        )
    return found
