"""`/metrics`: what the services of an application have counted, for whoever they let in."""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from ...calls.service import Service
from ...errors import Unauthorized
from ...protocol.http.headers import Head
from ...protocol.http.rules import Refused, refused
from .body import TurnedAway
from .endpoint import Endpoint
from .response import Response

PATH = "/metrics"
_RESET = "DELETE"
_VERBS = ("GET", "HEAD", _RESET)


class Counted(Protocol):
    """A service, and the endpoint that lets requests in."""

    @property
    def service(self) -> Service: ...
    def here(self) -> Endpoint: ...


# Writes down the metrics of services, by their paths: the text, and what kind of text it is.
Expose: TypeAlias = Callable[[list[tuple[str, Service]]], tuple[bytes, str]]


async def scrape(
    expose: Expose, counted: Mapping[str, Counted], verb: str, head: Head, response: Response
) -> None:
    """Answer with the metrics of every service that lets the request in; of none, if none does.
    DELETE answers with them, too, and then they begin anew."""
    if verb not in _VERBS:
        allow = ", ".join(_VERBS)
        await response.refuse(refused(405, f"{verb} has no meaning here", allow=allow))
        return
    let_in: list[tuple[str, Service]] = []
    refusals: list[Refused] = []
    for path, each in counted.items():
        refusal = await _refusal(each.here(), head, response)
        if refusal is None:
            let_in.append((path or "/", each.service))
        else:
            refusals.append(refusal)
    if not let_in and refusals:
        await response.refuse(refusals[0])
    else:
        text, kind = expose(let_in)
        if verb == _RESET:
            for _, service in let_in:
                service.metrics.reset()
        await response.text(text, kind)


async def _refusal(endpoint: Endpoint, head: Head, response: Response) -> Refused | None:
    try:
        await endpoint.vouch(head, response)
    except TurnedAway as away:
        return away.refused
    except Unauthorized as error:
        return refused(401, error, www_authenticate=error.challenge)
    return None
