"""Members of a JSON object by its text: duplicate names, and the id of a malformed request.

Of two members with the same name, decoders take the last without an error. Duplicates are excluded
by length: if the decoded members add up to the length of the text, there are no others.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import islice

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ..lazy_regex import pattern
from .json_bounds import TooMuch

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NAME = pattern(rb"[\s{,]*+(%b)\s*+:\s*+" % _STRING, re.DOTALL)
_END = pattern(rb"\s*+\}\s*+\Z")

# Members of an object that is searched for duplicates; each takes 2 µs.
_MOST_NAMES = 10_000
# Tokens of a malformed text that are read, each a string or a bracket: about 20 ms.
_MOST_STEPS = 50_000
_TOKEN = pattern(rb'%b|[{}\[\]:"]' % _STRING, re.DOTALL)
_VALUE = rb"(-?(?:0|[1-9][0-9]{0,4299})|%b)" % _STRING
_ID_VALUE = pattern(rb"\s*+%b\s*+[,}]" % _VALUE, re.DOTALL)

# The end of a request with the envelope after the parameters. The two members cannot occur side by
# side elsewhere: in a string their quotes would be escaped.
_JSONRPC = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID = rb'"id"\s*:\s*%b' % _VALUE
_END_OF_REQUEST = rb'(?:\s*,\s*"method"\s*:\s*%b)?\s*\}\s*\Z' % _STRING
_ID_LAST = pattern(rb"[,{]\s*%b\s*,\s*%b%b" % (_JSONRPC, _ID, _END_OF_REQUEST), re.DOTALL)
_ID_THEN = pattern(rb"[,{]\s*%b\s*,\s*%b%b" % (_ID, _JSONRPC, _END_OF_REQUEST), re.DOTALL)
# Bytes at either end of a text that are searched.
_LAST = 1024
_BACKSLASH = 0x5C
_BOM = b"\xef\xbb\xbf"

_decode_anything = msgspec.json.Decoder().decode
_decode_name = msgspec.json.Decoder(str).decode
# Decodes an object to its members, with raw values.
members_of = msgspec.json.Decoder(dict[str, Raw]).decode


def repeated(text: Raw | bytes) -> str | None:
    """Return the first duplicate name of an object; None if there is none, or it is no object.

    Raises:
        TooMuch: it has too many members to search.
    """
    try:
        members = members_of(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return repeated_of(text, members)


def repeated_of(text: Raw | bytes, members: Mapping[str, Raw]) -> str | None:
    """Return the first duplicate name of an object, given its decoded members.

    Raises:
        TooMuch: it has too many members to search.
    """
    # Quotes and a colon for each, a comma between two, braces around all.
    filled = 1 + 4 * len(members) + len("".join(members)) + sum(map(len, members.values()))
    if filled == len(text) or not members:
        return None
    if len(members) > _MOST_NAMES:
        raise TooMuch(f"more than {_MOST_NAMES:,} members")
    return _find_duplicate(bytes(text), members)


def _find_duplicate(text: bytes, members: Mapping[str, Raw]) -> str | None:
    """Go from name to name. The value of the first of two members differs from the decoded one, or
    the name is seen again.
    """
    seen: set[str] = set()
    at, name = 0, ""
    while spelled := _NAME.match(text, at):
        # Names may contain escapes, so they are compared decoded.
        name = _decode_name(spelled[1])
        value = bytes(members[name])
        if name in seen or not text.startswith(value, spelled.end()):
            return name
        seen.add(name)
        at = spelled.end() + len(value)
    return None if _END.match(text, at) else name


def is_each_once(text: bytes, spelled: Iterable[bytes]) -> bool:
    """Return True if none of the names, given with their quotes, can be a duplicate in an object
    with only these members. False means unknown: a name may occur in a value as well.
    """
    if _BACKSLASH in text:  # a name may contain escapes
        return False
    for name in spelled:
        # `rfind` is several times as fast as `find` here.
        last = text.rfind(name)
        if last > 1 and text.rfind(name, 0, last) >= 0:
            return False
    return True


def salvage_id(data: bytes, tail: bytes = b"") -> int | str | UnsetType:
    """Return the id of a malformed or truncated request, if it is unambiguous.

    Args:
        tail: the end of the request, if `data` is only its beginning.
    """
    starts, is_whole = _places_of_id(data)
    value = _ID_VALUE.match(data, starts[0]) if len(starts) == 1 else None
    is_object = data.removeprefix(_BOM)[:_LAST].lstrip().startswith(b"{")
    if not starts and (tail or not is_whole) and is_object:
        end = (tail or data)[-_LAST:]
        value = _ID_LAST.search(end) or _ID_THEN.search(end)
    if value is None:
        return UNSET
    try:
        id_ = _decode_anything(value.group(1))
    except (msgspec.MsgspecError, UnicodeError):
        return UNSET
    return id_ if type(id_) in (int, str) else UNSET


def _places_of_id(data: bytes) -> tuple[list[int], bool]:
    """Return the offsets of the values of members named `id` in the outermost object, and whether
    the text was read to its end.
    """
    depth, name = 0, b""
    found: list[int] = []
    tokens = _TOKEN.finditer(data)
    for token in islice(tokens, _MOST_STEPS):
        text = token.group()
        if text == b":":
            if depth == 1 and _is_id(name):
                found.append(token.end())
            name = b""
        elif text in b"{[":
            depth += 1
            if depth == 1 and text == b"[":
                break
        elif text in b"}]":
            depth -= 1
        elif text == b'"':  # an unterminated string
            break
        elif depth == 1:
            name = text
    else:
        return found, next(tokens, None) is None
    return found, True


def _is_id(name: bytes) -> bool:
    """Return whether a quoted name, which may contain escapes, is `id`."""
    if b"\\" not in name:
        return name == b'"id"'
    try:
        return _decode_name(name) == "id"
    except (msgspec.MsgspecError, UnicodeError):
        return False
