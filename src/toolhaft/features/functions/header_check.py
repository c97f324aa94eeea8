"""Do the headers of a call say what its arguments say? Loaded when a tool has such arguments."""

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ...errors import HeaderMismatch
from ...lazy_regex import pattern
from ...protocol.http.headers import PARAM, compare, decoded
from .mirrored_headers import Mirrored

_LARGEST: Final = 2**53 - 1
_PARAM: Final = PARAM.decode()
_INTEGER = pattern(r"-?[0-9]{1,20}(?:\.0{1,20})?")


def check_mirrors(
    headers: Mapping[str, str], arguments: Raw | UnsetType, mirrors: tuple[Mirrored, ...]
) -> None:
    """Do the headers say what the arguments say?

    Raises:
        HeaderMismatch: one of them does not.
    """
    try:
        given = {} if arguments is UNSET else msgspec.json.decode(arguments, type=dict[str, Any])
    except msgspec.MsgspecError:  # of whatever shape they are, others will say so
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
    """42 and 42.0 are the same number."""
    try:
        text = "" if sent is None else decoded(sent)
    except ValueError as error:
        raise HeaderMismatch(name, sent, str(value), str(error)) from None
    if not _INTEGER.fullmatch(text) or int(text.partition(".")[0]) != value:
        raise HeaderMismatch(name, sent, str(value))
    if abs(value) > _LARGEST:
        raise HeaderMismatch(name, sent, str(value), "is beyond what a header may hold")
