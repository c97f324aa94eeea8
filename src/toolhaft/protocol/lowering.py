"""Take out of a value what a revision does not know.

Types are neutral and carry the fields of every revision; this is the one place where they are cut
down, from the table. The newest revision has nothing to cut and pays nothing.
"""

from typing import TypeVar, cast

import msgspec
from msgspec import UNSET, Struct

from ..types.content import AudioContent, ResourceLink, TextContent
from ..types.wire import Wire
from .revisions import Revision

T = TypeVar("T", bound=Wire)


def lowered(value: T, revision: Revision) -> T:
    """The value as this revision knows it; the value itself if there is nothing to change."""
    if not revision.unknown_fields and not revision.unknown_content:
        return value
    return cast(T, _lowered(value, revision))


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
        if name not in changes and isinstance(member, list | Struct):
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
