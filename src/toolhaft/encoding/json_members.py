"""The members of a JSON object by its text: a name that stands twice, the id of a broken request.

Decoders let the last of two members with the same name win and do not tell. Whether there are two
is seen by the length of the text: if the members that a decoder has found fill it, there are no
others.
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

# To go from one name to the next takes 2 µs.
_MOST_NAMES = 10_000
# A broken text is read in steps, each of which is a string or a bracket, and no further than this:
# some 20 ms, however long the text is.
_MOST_STEPS = 50_000
_TOKEN = pattern(rb'%b|[{}\[\]:"]' % _STRING, re.DOTALL)
_VALUE = rb"(-?(?:0|[1-9][0-9]{0,4299})|%b)" % _STRING
_ID_VALUE = pattern(rb"\s*+%b\s*+[,}]" % _VALUE, re.DOTALL)

# How a request ends whose writer adds the envelope behind the parameters. The two members side by
# side stand nowhere else: in a string their quotes would be escaped.
_JSONRPC = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID = rb'"id"\s*:\s*%b' % _VALUE
_END_OF_REQUEST = rb'(?:\s*,\s*"method"\s*:\s*%b)?\s*\}\s*\Z' % _STRING
_ID_LAST = pattern(rb"[,{]\s*%b\s*,\s*%b%b" % (_JSONRPC, _ID, _END_OF_REQUEST), re.DOTALL)
_ID_THEN = pattern(rb"[,{]\s*%b\s*,\s*%b%b" % (_ID, _JSONRPC, _END_OF_REQUEST), re.DOTALL)
_LAST = 1024
_BACKSLASH = 0x5C
_BOM = b"\xef\xbb\xbf"

_decode_anything = msgspec.json.Decoder().decode
_decode_name = msgspec.json.Decoder(str).decode
# The members of an object, with their values as they are written.
members_of = msgspec.json.Decoder(dict[str, Raw]).decode


def repeated(text: Raw | bytes) -> str | None:
    """The first name that an object has twice; None if there is none, or it is no object.

    Raises:
        TooMuch: it has too many members to tell.
    """
    try:
        members = members_of(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return repeated_of(text, members)


def repeated_of(text: Raw | bytes, members: Mapping[str, Raw]) -> str | None:
    """The same for an object whose members are known: the last of each name.

    Raises:
        TooMuch: they are too many to go from name to name.
    """
    # Quotes and a colon for each, a comma between two, braces around all.
    filled = 1 + 4 * len(members) + len("".join(members)) + sum(map(len, members.values()))
    if filled == len(text) or not members:
        return None
    if len(members) > _MOST_NAMES:
        raise TooMuch(f"more than {_MOST_NAMES:,} members")
    return _found_twice(bytes(text), members)


def _found_twice(text: bytes, members: Mapping[str, Raw]) -> str | None:
    """Go from name to name. A value that is not the last of its name is another text, or comes
    before the same name again."""
    seen: set[str] = set()
    at, name = 0, ""
    while spelled := _NAME.match(text, at):
        # Names may be spelled with escapes, so they are compared as what they mean.
        name = _decode_name(spelled[1])
        value = bytes(members[name])
        if name in seen or not text.startswith(value, spelled.end()):
            return name
        seen.add(name)
        at = spelled.end() + len(value)
    return None if _END.match(text, at) else name


def is_each_once(text: bytes, spelled: Iterable[bytes]) -> bool:
    """Does no name, given with its quotes, stand twice in an object that has only these? False if
    that would take longer to find out, or if one of them stands elsewhere as well."""
    if _BACKSLASH in text:  # a name may be spelled with escapes
        return False
    for name in spelled:
        # Searching backwards is several times as quick.
        last = text.rfind(name)
        if last > 1 and text.rfind(name, 0, last) >= 0:
            return False
    return True


def salvage_id(data: bytes, tail: bytes = b"") -> int | str | UnsetType:
    """The id of a request whose text is broken or cut off, if it stands there beyond doubt.

    Args:
        tail: how the request ends, if `data` is only how it begins.
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
    """Where the values of members named `id` begin in the outermost object, and whether the text
    was short enough to be read to its end."""
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
        elif text == b'"':  # a string that never ends
            break
        elif depth == 1:
            name = text
    else:
        return found, next(tokens, None) is None
    return found, True


def _is_id(name: bytes) -> bool:
    """Does a name, which may be spelled with escapes, mean `id`?"""
    if b"\\" not in name:
        return name == b'"id"'
    try:
        return _decode_name(name) == "id"
    except (msgspec.MsgspecError, UnicodeError):
        return False
