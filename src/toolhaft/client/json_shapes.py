"""What JSON of strangers is made of, before anything is known about it."""

import json
from typing import Any, TypeAlias, cast

Json: TypeAlias = dict[str, Any]


def as_object(value: Any) -> Json | None:
    """An object; None if it is none."""
    return cast(Json, value) if isinstance(value, dict) else None


def as_list(value: Any) -> list[Any] | None:
    """An array; None if it is none."""
    if not isinstance(value, list):
        return None
    return value  # pyright: ignore[reportUnknownVariableType]


def parsed(data: bytes | str) -> Any:
    """JSON of whatever depth.

    Raises:
        ValueError: it is none, or too deep for us to tell.
    """
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("too deep") from error


def is_silent(message: Any) -> bool:
    """Nobody answers a notification or a response."""
    members = (as_object(message) or {}).keys()
    is_response = "method" not in members and members & {"result", "error"}
    return bool(is_response) or members & {"id", "method"} == {"method"}
