"""What a response comes to: a result, or an exception."""

from typing import Any

from msgspec import UNSET

from ..errors import McpError
from .failures import BadAnswer
from .json_shapes import Json, as_list, as_object


def result_of(response: Json, what: str) -> Json:
    """The result of a response.

    Raises:
        McpError: it is an error.
        BadAnswer: it is neither.
    """
    if "error" in response:
        raise error_of(response["error"], what)
    result = as_object(response.get("result"))
    if result is None:
        raise BadAnswer(f"{what}: the server's response has no result: {response!r:.200}")
    return result


def entries_of(page: Json, method: str, member: str) -> list[Json]:
    """One page of a list.

    Raises:
        BadAnswer: it has none.
    """
    entries = as_list(page.get(member))
    if entries is None:
        raise BadAnswer(f"{method}: the server's result has no list {member!r}: {page!r:.200}")
    return entries


def questions_of(result: Json) -> dict[str, tuple[str, Json]]:
    """What a result asks for: methods and params, by their keys.

    Raises:
        BadAnswer: these are no requests.
    """
    asked = result.get("inputRequests")
    requests = {} if asked is None else as_object(asked)
    found: dict[str, tuple[str, Json]] = {}
    for key, each in (requests or {}).items():
        request = as_object(each) or {}
        if isinstance(method := request.get("method"), str):
            found[key] = method, as_object(request.get("params")) or {}
    if requests is None or found.keys() != requests.keys():
        raise BadAnswer(f"the server's inputRequests are none: {asked!r:.200}")
    return found


def error_of(error: Any, what: str) -> McpError:
    """The error of a response, as an exception."""
    try:
        return McpError(error["message"], code=error["code"], data=error.get("data", UNSET))
    except (KeyError, TypeError, AttributeError):
        raise BadAnswer(f"{what}: the server's error is none: {error!r:.200}") from None
