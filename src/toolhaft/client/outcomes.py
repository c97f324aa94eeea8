"""What a response comes to: a result, or an exception."""

from typing import Any, TypeAlias

from msgspec import UNSET

from ..errors import McpError
from .failures import BadAnswer
from .shapes import as_list, as_object

Json: TypeAlias = dict[str, Any]


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


def error_of(error: Any, what: str) -> McpError:
    """The error of a response, as an exception."""
    try:
        return McpError(error["message"], code=error["code"], data=error.get("data", UNSET))
    except (KeyError, TypeError, AttributeError):
        raise BadAnswer(f"{what}: the server's error is none: {error!r:.200}") from None
