"""Removal of fields and content that a client's revision lacks.

Wire types have the fields of every revision; only this module removes some, by the table in
`revisions`. Values of types without such fields are not traversed.
"""

from functools import cache
from typing import Any, TypeVar, cast, get_args

import msgspec
from msgspec import UNSET, Struct

from ..types.content import AudioContent, ResourceLink, TextContent
from ..types.wire import Wire
from .revisions import REVISIONS, Revision

T = TypeVar("T", bound=Wire)

_NESTED = (list, Struct)


def lowered(value: T, revision: Revision) -> T:
    """Return the value without what the revision lacks; the value itself if nothing changes."""
    return cast(T, _lowered(value, revision)) if _concerns(type(value), revision.date) else value


@cache
def _concerns(kind: type[Wire], date: str) -> bool:
    """Return whether values of this type can contain anything that the revision lacks."""
    revision = REVISIONS[date]
    unknown = {*revision.unknown_fields, *revision.unknown_content}
    return bool(unknown) and not unknown.isdisjoint(_reachable(kind, set()))


def _reachable(annotation: Any, seen: set[Any]) -> set[Any]:
    """Add the wire types that an annotation names, directly or through fields, to `seen`."""
    for argument in get_args(annotation):
        _reachable(argument, seen)
    if isinstance(annotation, type) and issubclass(annotation, Wire) and annotation not in seen:
        seen.add(annotation)
        for field in msgspec.structs.fields(annotation):
            _reachable(field.type, seen)
    return seen


def _lowered(value: object, revision: Revision) -> object:
    if isinstance(value, list):
        items = cast(list[object], value)
        return [_lowered(item, revision) for item in items]
    if not isinstance(value, Wire):
        return value
    if isinstance(value, revision.unknown_content):
        return in_words(value)
    changes: dict[str, object] = dict.fromkeys(revision.unknown_fields.get(type(value), ()), UNSET)
    for name in value.__struct_fields__:
        member = getattr(value, name)
        if name not in changes and isinstance(member, _NESTED):
            changes[name] = _lowered(cast(object, member), revision)
    return msgspec.structs.replace(value, **changes) if changes else value


def in_words(block: Wire) -> TextContent:
    """Replace a content block that the client's revision lacks by text."""
    match block:
        case ResourceLink(uri=uri, name=name):
            return TextContent(f"{name}: {uri}")
        case AudioContent(data=data, mime_type=mime_type):
            return TextContent(f"[audio, {mime_type}, {len(data)} bytes]")
        case _:
            raise TypeError(f"no words for {type(block).__name__}")
