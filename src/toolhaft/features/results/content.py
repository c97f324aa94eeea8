"""What authors return: content by what it is, and the blocks of the wire that it becomes.

Everything is checked, read and built when it is made, so that a mistake shows in the author's own
line. `block()` only hands out what is there: a constant can be returned a thousand times.
"""

import re
from collections.abc import Sequence
from typing import ClassVar, Protocol, TypeAlias, cast, runtime_checkable

from msgspec import UNSET, UnsetType

from ...lazy_regex import pattern
from ...schema.codecs import write_mended
from ...types.content import (
    AudioContent,
    BlobContents,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    Role,
    TextContent,
    TextContents,
)
from ...types.tools import CallToolResult
from ...types.wire import Icon, Json, Meta
from ..type_checks import (
    BYTES,
    SEPARATORS,
    Bytes,
    annotations,
    brief,
    expect,
    extent,
    held,
    listed,
    quoted,
    unset,
    valid_icon,
    valid_meta,
    valid_name,
    valid_type,
    written_uri,
)
from .media import media_type, name_in, sniffed, text_of


@runtime_checkable
class PathLike(Protocol):
    """`os.PathLike[str]`, said without the module that does so much else."""

    def __fspath__(self) -> str: ...


Source: TypeAlias = Bytes | str | PathLike

WIRE_BLOCKS = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)
_URL = pattern(r"(?:https?|file|ftp)://|data:", re.IGNORECASE)


class Block:
    """Something that becomes one content block."""

    __slots__ = ("_block", "_shown")

    def __init__(
        self,
        block: Content,
        shown: str,
        *,
        audience: Sequence[Role],
        priority: float | None,
        meta: Meta | None,
    ) -> None:
        what = type(self).__name__
        block.annotations = annotations(what, audience, priority)
        block.meta = _meta(what, meta)
        self._block = block
        self._shown = shown

    def block(self) -> Content:
        """The block as it is sent. It is shared between calls: do not change it."""
        return self._block

    def __eq__(self, other: object) -> bool:
        return self._block == other._block if type(other) is type(self) else NotImplemented

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown})"


class Text(Block):
    """Text, where more is to be said of it than a plain `str` can."""

    __slots__ = ()

    def __init__(
        self,
        text: str,
        *,
        audience: Sequence[Role] = (),
        priority: float | None = None,
        meta: Meta | None = None,
    ) -> None:
        block = TextContent(expect("Text", "text", text, str))
        super().__init__(block, brief(text), audience=audience, priority=priority, meta=meta)


class _Media(Block):
    """What an image and a sound have in common."""

    __slots__ = ()
    _kind: ClassVar[str]
    _wire: ClassVar[type[ImageContent] | type[AudioContent]]

    def __init__(
        self,
        source: Source,
        mime_type: str | None = None,
        *,
        audience: Sequence[Role] = (),
        priority: float | None = None,
        meta: Meta | None = None,
    ) -> None:
        what = type(self).__name__
        data, name = _read(what, source)
        mime = valid_type(what, mime_type)
        if mime is None:
            mime = _found(what, self._kind, data, name)
        elif not mime.lower().startswith(self._kind):
            raise ValueError(f"{what}: mime_type begins with {self._kind}, and {mime!r} does not")
        block, shown = self._wire(data, mime), f"{mime}, {len(data)} bytes"
        super().__init__(block, shown, audience=audience, priority=priority, meta=meta)


class Image(_Media):
    """A picture, of bytes or of a file, which is read at once.

    Raises:
        ValueError: the bytes are not known as a picture, and no `mime_type` says that they are.
        OSError: the file cannot be read.
    """

    __slots__ = ()
    _kind = "image/"
    _wire = ImageContent


class Audio(_Media):
    """A sound, of bytes or of a file, which is read at once.

    Raises:
        ValueError: the bytes are not known as a sound, and no `mime_type` says that they are.
        OSError: the file cannot be read.
    """

    __slots__ = ()
    _kind = "audio/"
    _wire = AudioContent


class File(Block):
    """A file as an embedded resource: as text if it is text, else as bytes. It is read at once.

    Of a path only the last segment is told to the client.

    Args:
        name: what the client sees, and a hint to the media type; that of the file if not given.
        uri: `file:///` and the name if not given.

    Raises:
        ValueError: bytes that have neither a name nor a URI.
        OSError: the file cannot be read.
    """

    __slots__ = ()

    def __init__(
        self,
        source: Source,
        *,
        name: str | None = None,
        mime_type: str | None = None,
        uri: str | None = None,
        audience: Sequence[Role] = (),
        priority: float | None = None,
        meta: Meta | None = None,
    ) -> None:
        data, own_name = _read("File", source)
        name = own_name if name is None else valid_name(name)
        if uri is not None:
            uri = written_uri("File", uri)
        elif name:
            uri = f"file:///{quoted(name)}"
        else:
            raise ValueError('File: bytes have no name; give name="report.pdf", or uri=')
        mime = valid_type("File", mime_type) or media_type(data, name or name_in(uri))
        text = text_of(data)
        block = EmbeddedResource(_contents(uri, data if text is None else text, mime))
        shown = f"{brief(uri)}, {mime}, {len(data)} bytes"
        super().__init__(block, shown, audience=audience, priority=priority, meta=meta)


class Link(Block):
    """A resource that the client may read if it likes, instead of what the resource holds.

    Args:
        name: the last segment of the URI's path if not given.
        size: in bytes, if it is known.
    """

    __slots__ = ()

    def __init__(
        self,
        uri: str,
        name: str | None = None,
        *,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        icons: Sequence[Icon] = (),
        audience: Sequence[Role] = (),
        priority: float | None = None,
        meta: Meta | None = None,
    ) -> None:
        if size is not None and expect("Link", "size", size, int) < 0:
            raise ValueError(f"Link: size is a number of bytes, not {size}")
        block = ResourceLink(
            written_uri("Link", uri),
            name_in(uri) or uri if name is None else expect("Link", "name", name, str),
            title=unset(title, "Link", "title", str),
            description=unset(description, "Link", "description", str),
            mime_type=valid_type("Link", mime_type) or UNSET,
            size=UNSET if size is None else size,
            icons=[valid_icon("Link", each) for each in listed("Link", "icons", icons, Icon)]
            or UNSET,
        )
        super().__init__(block, brief(uri), audience=audience, priority=priority, meta=meta)


class Embedded(Block):
    """A resource together with what it holds."""

    __slots__ = ()

    def __init__(
        self,
        uri: str,
        content: str | Bytes,
        *,
        mime_type: str | None = None,
        audience: Sequence[Role] = (),
        priority: float | None = None,
        meta: Meta | None = None,
    ) -> None:
        uri, inside = written_uri("Embedded", uri), held("Embedded", content)
        block = EmbeddedResource(_contents(uri, inside, valid_type("Embedded", mime_type)))
        shown = f"{brief(uri)}, {extent(inside)}"
        super().__init__(block, shown, audience=audience, priority=priority, meta=meta)


class Contents:
    """One of the contents of a resource that is read.

    Args:
        uri: what these contents are of; the URI that was asked for if not given.
        mime_type: that of the resource if not given.
    """

    __slots__ = ("_given",)

    def __init__(
        self,
        content: str | Bytes,
        *,
        uri: str | None = None,
        mime_type: str | None = None,
        meta: Meta | None = None,
    ) -> None:
        self._given = (
            held("Contents", content),
            None if uri is None else written_uri("Contents", uri),
            valid_type("Contents", mime_type),
            _meta("Contents", meta),
        )

    def contents(self, uri: str, mime_type: str | None) -> ResourceContents:
        """As it is sent, for the URI that was asked for and the type the resource declares."""
        content, own_uri, own_type, meta = self._given
        contents = _contents(own_uri or uri, content, own_type or mime_type)
        contents.meta = meta
        return contents

    def __eq__(self, other: object) -> bool:
        return self._given == other._given if type(other) is type(self) else NotImplemented

    def __repr__(self) -> str:
        content, uri, _, _ = self._given
        return f"Contents({extent(content)}{'' if uri is None else f', uri={brief(uri)}'})"


Item: TypeAlias = str | Block | Content


class Result:
    """The result of a tool, with nothing left to chance.

    Args:
        content: what the model reads. If it is not given, the structured content as JSON.
        structured: any JSON value, also None.
        error: the call has failed, and the content says why.
    """

    __slots__ = ("_wire",)

    def __init__(
        self,
        content: Item | Sequence[Item] | UnsetType = UNSET,
        *,
        structured: Json | UnsetType = UNSET,
        error: bool = False,
        meta: Meta | None = None,
    ) -> None:
        if content is UNSET:
            # Structured content again, for clients that only read text.
            content = () if structured is UNSET else _as_text(structured)
        items = cast(Sequence[object], content if isinstance(content, list | tuple) else [content])
        self._wire = CallToolResult(
            content=[_item(item) for item in items],
            structured_content=structured,
            is_error=expect("Result", "error", error, bool) or UNSET,
            meta=_meta("Result", meta),
        )

    def wire(self) -> CallToolResult:
        """The result as it is sent. It is shared between calls: do not change it."""
        return self._wire

    def __eq__(self, other: object) -> bool:
        return self._wire == other._wire if type(other) is type(self) else NotImplemented

    def __repr__(self) -> str:
        kinds = ", ".join(type(block).__name__ for block in self._wire.content)
        error = ", error=True" if self._wire.is_error is True else ""
        return f"Result([{kinds}]{error})"


def _meta(what: str, meta: Meta | None) -> Meta | UnsetType:
    if meta is not None:
        valid_meta(what, expect(what, "meta", meta, dict))
    return UNSET if meta is None else meta


def check_metas(result: CallToolResult) -> None:
    """Are the keys of `_meta` in a result that an author has put together theirs to use?

    Raises:
        TypeError, ValueError: one of them is not.
    """
    for part in (result, *result.content):
        if part.meta is not UNSET:
            valid_meta("the result", part.meta)


def blocks_of(value: object, *, always: bool = False) -> list[Content] | None:
    """The value as content blocks, if it is one or a list with at least one among its items.

    Args:
        always: whatever is in a list or is text is meant as content.

    Raises:
        TypeError, ValueError, …: whatever msgspec raises for an item that JSON cannot hold.
    """
    block = _block(value)
    if block is not None:
        return [block]
    if always and isinstance(value, str):
        return [TextContent(value)]
    if not isinstance(value, list | tuple):
        return None
    items = cast(Sequence[object], value)
    # By their classes, of which there are few, for there may be millions of items.
    if not always and not any(
        issubclass(kind, (Block, *WIRE_BLOCKS)) for kind in set(map(type, items))
    ):
        return None
    return [_any_block(item, f"result:///{index}") for index, item in enumerate(items)]


def block_of_bytes(data: bytes, uri: str) -> Content:
    """A block for bytes of which nothing is known; the URI is used if they have to be embedded."""
    mime = media_type(data)
    if mime.startswith("image/"):
        return ImageContent(data, mime)
    if mime.startswith("audio/"):
        return AudioContent(data, mime)
    text = text_of(data)
    return EmbeddedResource(BlobContents(uri, data, mime)) if text is None else TextContent(text)


def _block(value: object) -> Content | None:
    if isinstance(value, Block):
        return value.block()
    return value if isinstance(value, WIRE_BLOCKS) else None


def _any_block(item: object, uri: str) -> Content:
    block = _block(item)
    if block is not None:
        return block
    if isinstance(item, BYTES):
        return block_of_bytes(bytes(cast(Bytes, item)), uri)
    return TextContent(_as_text(item))


def _item(item: object) -> Content:
    block = TextContent(item) if isinstance(item, str) else _block(item)
    if block is None:
        raise TypeError(
            f"Result: content is made of str, Text, Image, File and their like, not of "
            f"{type(item).__name__}; data goes to structured="
        )
    return block


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else write_mended(value).decode()


def _contents(uri: str, content: str | bytes, mime_type: str | None) -> ResourceContents:
    if isinstance(content, str):
        return TextContents(uri, content, mime_type or "text/plain")
    return BlobContents(uri, content, mime_type or media_type(content, name_in(uri)))


def _read(what: str, source: Source) -> tuple[bytes, str | None]:
    """The bytes of a source, and its name if it is a file."""
    if isinstance(source, BYTES):
        return bytes(source), None
    path = cast(object, source.__fspath__() if isinstance(source, PathLike) else source)
    if not isinstance(path, str):
        raise TypeError(f"{what}: the source is bytes or a path, not {type(source).__name__}")
    if _URL.match(path):
        raise ValueError(f"{what}: the source is no URL ({brief(path)}); fetch it, or use Link")
    with open(path, "rb") as file:
        return file.read(), SEPARATORS.split(path)[-1]


def _found(what: str, kind: str, data: bytes, name: str | None) -> str:
    """The media type of the bytes, which has to be of the kind.

    The name may make plainer what the bytes say, but it is no reason to believe that they are a
    picture: what is saved as logo.png is an error page often enough."""
    found = media_type(data, name if sniffed(data) else None)
    if not found.startswith(kind):
        raise ValueError(
            f"{what}: the source looks like {found if data else 'nothing, it is empty'}; if it is "
            f'of a rare format, give mime_type="{kind}…", and if it is something else, return a '
            "File"
        )
    return found
