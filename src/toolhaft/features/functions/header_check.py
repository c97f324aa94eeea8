"""Comparison of `Mcp-Param-*` headers with the arguments. Imported for tools that have such."""

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ...errors import HeaderMismatch
from ...lazy_regex import pattern
from ...protocol.http.headers import PARAM, compare, decoded
from .mirrored_headers import Mirrored

# Largest integer that a header may mirror, which is exact in an IEEE double.
_LARGEST: Final = 2**53 - 1
_PARAM: Final = PARAM.decode()
_INTEGER = pattern(r"-?[0-9]{1,20}(?:\.0{1,20})?")


def check_mirrors(
    headers: Mapping[str, str], arguments: Raw | UnsetType, mirrors: tuple[Mirrored, ...]
) -> None:
    """Check that each mirrored argument equals its header.

    Raises:
        HeaderMismatch: a header differs from its argument.
    """
    try:
        given = {} if arguments is UNSET else msgspec.json.decode(arguments, type=dict[str, Any])
    except msgspec.MsgspecError:  # invalid arguments are reported when they are bound
        return
    for mirror in mirrors:
        _compare(f"Mcp-Param-{mirror.header}", headers.get(_PARAM + mirror.header), given, mirror)


def _compare(name: str, sent: str | None, given: Any, mirror: Mirrored) -> None:
    value = given
    for key in mirror.path:
        value = cast(dict[str, Any], value).get(key) if isinstance(value, dict) else None
    if value is None:
        if sent is not None:
            raise HeaderMismatch(name, sent, None, "repeats an argument that is not there")
    elif isinstance(value, bool):
        compare(name, sent, "true" if value else "false")
    elif isinstance(value, int | float):
        _compare_numbers(name, sent, value)
    elif isinstance(value, str):
        compare(name, sent, value)


def _compare_numbers(name: str, sent: str | None, value: float) -> None:
    """Compare numerically: 42 and 42.0 are equal."""
    try:
        text = "" if sent is None else decoded(sent)
    except ValueError as error:
        raise HeaderMismatch(name, sent, str(value), str(error)) from None
    if not _INTEGER.fullmatch(text) or int(text.partition(".")[0]) != value:
        raise HeaderMismatch(name, sent, str(value))
    if abs(value) > _LARGEST:
        raise HeaderMismatch(name, sent, str(value), "is beyond what a header may hold")
