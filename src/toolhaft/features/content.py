"""What authors return: content by what it is, and the blocks of the wire that it becomes.

Everything is checked, read and built when it is made, so that a mistake shows in the author's own
line. `block()` only hands out what is there: a constant can be returned a thousand times.
"""

import re
from collections.abc import Sequence
from typing import ClassVar, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

from msgspec import UNSET, UnsetType

from ..types.content import (
    Annotations,
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
from ..types.tools import CallToolResult
from ..types.wire import Icon, Json, Meta
from .kinds import write
from .media import media_type, name_in, sniffed, text_of

T = TypeVar("T")


@runtime_checkable
class PathLike(Protocol):
    """`os.PathLike[str]`, said without the module that does so much else."""

    def __fspath__(self) -> str: ...


Bytes: TypeAlias = bytes | bytearray | memoryview
Source: TypeAlias = Bytes | str | PathLike

WIRE_BLOCKS = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)
_BYTES = (bytes, bytearray, memoryview)
_ROLES = ("user", "assistant")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_URL = re.compile(r"(?:https?|file|ftp)://|data:", re.IGNORECASE)
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:\s*;.*)?")
_SEPARATORS = re.compile(r"[/\\]")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_LONGEST_REPR = 40


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
        block.annotations = _annotations(what, audience, priority)
        block.meta = _unset(meta, what, "meta", dict)
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
        block = TextContent(_expect("Text", "text", text, str))
        super().__init__(block, _brief(text), audience=audience, priority=priority, meta=meta)


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
        mime = _media_type(what, mime_type)
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
        name = own_name if name is None else _name(name)
        if uri is not None:
            uri = _uri("File", uri)
        elif name:
            uri = f"file:///{_quoted(name)}"
        else:
            raise ValueError('File: bytes have no name; give name="report.pdf", or uri=')
        mime = _media_type("File", mime_type) or media_type(data, name or name_in(uri))
        text = text_of(data)
        block = EmbeddedResource(_contents(uri, data if text is None else text, mime))
        shown = f"{_brief(uri)}, {mime}, {len(data)} bytes"
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
        if size is not None and _expect("Link", "size", size, int) < 0:
            raise ValueError(f"Link: size is a number of bytes, not {size}")
        block = ResourceLink(
            _uri("Link", uri),
            name_in(uri) or uri if name is None else _expect("Link", "name", name, str),
            title=_unset(title, "Link", "title", str),
            description=_unset(description, "Link", "description", str),
            mime_type=_media_type("Link", mime_type) or UNSET,
            size=UNSET if size is None else size,
            icons=[_expect("Link", "each icon", icon, Icon) for icon in icons] or UNSET,
        )
        super().__init__(block, _brief(uri), audience=audience, priority=priority, meta=meta)


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
        uri, held = _uri("Embedded", uri), _held("Embedded", content)
        block = EmbeddedResource(_contents(uri, held, _media_type("Embedded", mime_type)))
        shown = f"{_brief(uri)}, {_extent(held)}"
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
            _held("Contents", content),
            None if uri is None else _uri("Contents", uri),
            _media_type("Contents", mime_type),
            _unset(meta, "Contents", "meta", dict),
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
        return f"Contents({_extent(content)}{'' if uri is None else f', uri={_brief(uri)}'})"


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
            is_error=_expect("Result", "error", error, bool) or UNSET,
            meta=_unset(meta, "Result", "meta", dict),
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


def blocks_of(value: object) -> list[Content] | None:
    """The value as content blocks, if it is one or a list with at least one among its items.

    Raises:
        TypeError, ValueError, …: whatever msgspec raises for an item that JSON cannot hold.
    """
    block = _block(value)
    if block is not None:
        return [block]
    if not isinstance(value, list | tuple):
        return None
    items = cast(Sequence[object], value)
    if not any(isinstance(item, (Block, *WIRE_BLOCKS)) for item in items):
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
    if isinstance(item, _BYTES):
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
    return value if isinstance(value, str) else write(value).decode()


def _contents(uri: str, content: str | bytes, mime_type: str | None) -> ResourceContents:
    if isinstance(content, str):
        return TextContents(uri, content, mime_type or "text/plain")
    return BlobContents(uri, content, mime_type or media_type(content, name_in(uri)))


def _read(what: str, source: Source) -> tuple[bytes, str | None]:
    """The bytes of a source, and its name if it is a file."""
    if isinstance(source, _BYTES):
        return bytes(source), None
    path = cast(object, source.__fspath__() if isinstance(source, PathLike) else source)
    if not isinstance(path, str):
        raise TypeError(f"{what}: the source is bytes or a path, not {type(source).__name__}")
    if _URL.match(path):
        raise ValueError(f"{what}: the source is no URL ({_brief(path)}); fetch it, or use Link")
    with open(path, "rb") as file:
        return file.read(), _SEPARATORS.split(path)[-1]


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


def _held(what: str, content: str | Bytes) -> str | bytes:
    if isinstance(content, str):
        return content
    if isinstance(content, _BYTES):  # pyright: ignore[reportUnnecessaryIsInstance]
        return bytes(content)
    raise TypeError(f"{what}: the content is str or bytes, not {type(content).__name__}")


def _annotations(
    what: str, audience: Sequence[Role], priority: float | None
) -> Annotations | UnsetType:
    if isinstance(audience, str) or any(role not in _ROLES for role in audience):
        raise ValueError(f'{what}: audience is as in ["user", "assistant"], not {audience!r}')
    if priority is None:
        return Annotations(list(audience)) if audience else UNSET
    if isinstance(priority, bool) or not isinstance(priority, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{what}: priority is a number, not {type(priority).__name__}")
    if not 0 <= priority <= 1:
        raise ValueError(f"{what}: priority is from 0 (least) to 1 (most), not {priority}")
    return Annotations(list(audience) or UNSET, priority)


def _unset(value: T | None, what: str, name: str, kind: type[T]) -> T | UnsetType:
    return UNSET if value is None else _expect(what, name, value, kind)


def _expect(what: str, name: str, value: T, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{what}: {name} is {kind.__name__}, not {type(value).__name__}")
    return value


def _uri(what: str, uri: str) -> str:
    if not _SCHEME.match(_expect(what, "uri", uri, str)):
        raise ValueError(f"{what}: a URI begins with a scheme, as in notes://{uri}, not {uri!r}")
    return uri


def _media_type(what: str, mime_type: str | None) -> str | None:
    if mime_type is None:
        return None
    if not _MEDIA_TYPE.fullmatch(_expect(what, "mime_type", mime_type, str)):
        raise ValueError(f"{what}: mime_type is like text/plain, not {mime_type!r}")
    return mime_type


def _name(name: str) -> str:
    """A name for a URI, where dots alone would be a way up."""
    name = _expect("File", "name", name, str)
    if _SEPARATORS.search(name) or name in ("", ".", ".."):
        raise ValueError(f"File: name is that of a file, not {name!r}; give a path as uri=")
    return name


def _quoted(name: str) -> str:
    """Percent-encoded. A name that is not UTF-8 keeps its bytes."""
    data = name.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in data)


def _extent(content: str | bytes) -> str:
    return _brief(content) if isinstance(content, str) else f"{len(content)} bytes"


def _brief(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_REPR else text[:_LONGEST_REPR] + "…")
