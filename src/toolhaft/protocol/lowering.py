"""Take out of a value what a revision does not know.

Types are neutral and carry the fields of every revision; this is the one place where they are cut
down, from the table. Where there is nothing to cut, nothing is looked at.
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
    """The value as this revision knows it; the value itself if there is nothing to change."""
    return cast(T, _lowered(value, revision)) if _concerns(type(value), revision.date) else value


@cache
def _concerns(kind: type[Wire], date: str) -> bool:
    """Can a value of this type hold anything that the revision does not know?"""
    revision = REVISIONS[date]
    unknown = {*revision.unknown_fields, *revision.unknown_content}
    return bool(unknown) and not unknown.isdisjoint(_reachable(kind, set()))


def _reachable(annotation: Any, seen: set[Any]) -> set[Any]:
    """The wire types that an annotation names, and those that their fields name."""
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
    """A content block that the client cannot know, as text that tells the same."""
    match block:
        case ResourceLink(uri=uri, name=name):
            return TextContent(f"{name}: {uri}")
        case AudioContent(data=data, mime_type=mime_type):
            return TextContent(f"[audio, {mime_type}, {len(data)} bytes]")
        case _:
            raise TypeError(f"no words for {type(block).__name__}")
