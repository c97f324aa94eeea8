"""Validation of progress values: finite numbers and encodable text, as JSON requires."""

from math import isfinite

from ..errors import clipped


def valid_message(message: str) -> str:
    """Return a message with lone surrogates replaced, so that it can be encoded."""
    if not isinstance(message, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"the message of progress must be a text, not {message!r}")
    return message if message.isascii() else message.encode("utf-8", "replace").decode()


def valid_numbers(done: float, total: float | None) -> tuple[float, float | None]:
    """Return the values as int or float: a Decimal would be sent as a string, a bool as `true`."""
    try:
        is_finite = isfinite(done) and (total is None or isfinite(total))
    except OverflowError:  # an integer too large for a float
        is_finite = False
    except TypeError:
        raise TypeError(f"progress must be a number, not {_spelled(done, total)}") from None
    if not is_finite:
        raise ValueError(f"progress must be finite, not {_spelled(done, total)}")
    return _number(done), None if total is None else _number(total)


def _spelled(done: float, total: float | None) -> str:
    return clipped(repr(done) if total is None else f"{done!r} of {total!r}")


def _number(value: float) -> float:
    return value if type(value) is int or type(value) is float else float(value)
