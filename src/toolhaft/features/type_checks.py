"""What the makers of content expect of their arguments, and how they say so."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec import UNSET, UnsetType

from ..lazy_regex import pattern
from ..types.content import Annotations, Role
from ..types.wire import Icon

T = TypeVar("T")

Bytes: TypeAlias = bytes | bytearray | memoryview
BYTES = (bytes, bytearray, memoryview)
SEPARATORS = pattern(r"[/\\]")
_ROLES = ("user", "assistant")
_SCHEME = pattern(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MEDIA_TYPE = pattern(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:\s*;.*)?")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_LONGEST_REPR = 40
# What RFC 3986 allows in URIs, but for escapes; and what it allows nowhere.
_URI_LETTERS = frozenset(map(chr, _UNRESERVED)) | set(":/?#[]@!$&'()*+,;=")
_NOT_IN_URIS = pattern(r"[^A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]|%(?![0-9A-Fa-f]{2})")
_META_NAME = pattern(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")
_META_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_META_PREFIX = pattern(rf"{_META_LABEL}(?:\.{_META_LABEL})*")
_RESERVED = ("modelcontextprotocol", "mcp")
# Keys that extensions of the protocol give to servers.
_EXTENSIONS = ("io.modelcontextprotocol/related-task", "io.modelcontextprotocol.skills/")
_ICON = pattern(r"(?i:https?://[^\s/]|data:image/)[^\s]*\Z")
_WEBSITE = pattern(r"(?i:https?://[^\s/])[^\s]*\Z")
_ICON_SIZE = pattern(r"[0-9]+x[0-9]+|any")


def held(what: str, content: str | Bytes) -> str | bytes:
    """Text, or bytes of whatever kind."""
    if isinstance(content, str):
        return content
    if isinstance(content, BYTES):  # pyright: ignore[reportUnnecessaryIsInstance]
        return bytes(content)
    raise TypeError(f"{what}: the content is str or bytes, not {type(content).__name__}")


def annotations(
    what: str, audience: Sequence[Role], priority: float | None
) -> Annotations | UnsetType:
    """For whom content is, and how much it matters."""
    is_list = isinstance(audience, Sequence) and not isinstance(audience, str)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not is_list or any(role not in _ROLES for role in audience):
        raise ValueError(f'{what}: audience is as in ["user", "assistant"], not {audience!r}')
    if priority is None:
        return Annotations(list(audience)) if audience else UNSET
    if isinstance(priority, bool) or not isinstance(priority, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{what}: priority is a number, not {type(priority).__name__}")
    if not 0 <= priority <= 1:
        raise ValueError(f"{what}: priority is from 0 (least) to 1 (most), not {priority}")
    return Annotations(list(audience) or UNSET, priority)


def unset(value: T | None, what: str, name: str, kind: type[T]) -> T | UnsetType:
    """What may be left out."""
    return UNSET if value is None else expect(what, name, value, kind)


def expect(what: str, name: str, value: T, kind: type[T]) -> T:
    """A value, if it is of this kind."""
    if not isinstance(value, kind):
        raise TypeError(f"{what}: {name} is {kind.__name__}, not {type(value).__name__}")
    return value


def listed(what: str, name: str, values: Sequence[T], kind: type[T]) -> list[T]:
    """Several values of this kind. One text is no list of them."""
    if isinstance(values, str) or not isinstance(values, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        found = type(values).__name__
        raise TypeError(f"{what}: {name} is a list of {kind.__name__}, not {found}")
    return [expect(what, f"each of {name}", value, kind) for value in values]


def valid_uri(what: str, uri: str) -> str:
    """A URI, if it has a scheme and nothing in it that no URI has.

    Raises:
        ValueError: it is none; the message has what it should be.
    """
    if (correct := written_uri(what, uri)) != uri:
        raise ValueError(
            f"{what}: {uri!r} is no URI, which is ASCII without spaces and the like; write "
            f"{correct!r}"
        )
    return uri


def written_uri(what: str, uri: str) -> str:
    """A URI, if it has a scheme; what no URI has in it is percent-encoded."""
    valid_template(what, uri)
    if _URI_LETTERS.issuperset(uri):  # nearly all of them
        return uri
    return _NOT_IN_URIS.sub(lambda match: quoted(match.group()), uri)


def valid_template(what: str, uri: str) -> str:
    """A URI, or a template of some, if it has a scheme."""
    if not _SCHEME.match(expect(what, "uri", uri, str)):
        raise ValueError(f"{what}: a URI begins with a scheme, as in notes://{uri}, not {uri!r}")
    return uri


def valid_meta(what: str, meta: Mapping[Any, Any]) -> None:
    """Are these keys that an author may put into `_meta`?

    Raises:
        TypeError: a key is no text.
        ValueError: it is none of the form `example.com/name`, or belongs to the protocol.
    """
    for key in meta:
        if not isinstance(key, str):
            raise TypeError(f"{what}: meta has the key {key!r}, and keys are str")
        prefix, slash, name = key.rpartition("/")
        if not _META_NAME.fullmatch(name) or (slash and not _META_PREFIX.fullmatch(prefix)):
            raise ValueError(
                f"{what}: meta has the key {key!r}; a key is a name, or a domain of yours and a "
                "name, as in com.example/name, of letters, digits, and - _ . between them"
            )
        if slash and _is_reserved(prefix) and not key.startswith(_EXTENSIONS):
            raise ValueError(
                f"{what}: meta has the key {key!r}, which the protocol keeps for itself; put a "
                "domain of your own in front, as in com.example/name"
            )


def _is_reserved(prefix: str) -> bool:
    """ "Any prefix where the second label is `modelcontextprotocol` or `mcp` is reserved", and up
    to 2025-06-18 any prefix in which a label follows one of these."""
    labels = prefix.split(".")
    return any(label in _RESERVED for label in (*labels[:-1], *labels[1:2]))


def valid_icon(what: str, icon: Icon) -> Icon:
    """An icon that clients show.

    Raises:
        TypeError, ValueError: it is none.
    """
    if not _ICON.match(expect(what, "src of an icon", icon.src, str)):
        raise ValueError(
            f"{what}: the src of an icon is an https or data URI, as in https://… or data:image/…, "
            f"not {brief(icon.src)}; clients refuse all others"
        )
    if icon.mime_type is not UNSET:
        valid_type(f"{what}: an icon", icon.mime_type)
    if icon.theme is not UNSET and icon.theme not in ("light", "dark"):
        raise ValueError(f'{what}: the theme of an icon is "light" or "dark", not {icon.theme!r}')
    sizes = () if icon.sizes is UNSET else listed(what, "sizes of an icon", icon.sizes, str)
    for size in sizes:
        if not _ICON_SIZE.fullmatch(size):
            raise ValueError(f'{what}: a size of an icon is as in "48x48", or "any", not {size!r}')
    return icon


def valid_website(what: str, url: str) -> None:
    """Is this an address that a client can open without harm?

    Raises:
        ValueError: it is not.
    """
    if not _WEBSITE.match(url):
        raise ValueError(f"{what}: website_url is an http or https URL, not {brief(url)}")


def valid_type(what: str, mime_type: str | None) -> str | None:
    """A media type, if it looks like one."""
    if mime_type is None:
        return None
    if not _MEDIA_TYPE.fullmatch(expect(what, "mime_type", mime_type, str)):
        raise ValueError(f"{what}: mime_type is like text/plain, not {mime_type!r}")
    return mime_type


def valid_name(name: str) -> str:
    """A name for a URI, where dots alone would be a way up."""
    name = expect("File", "name", name, str)
    if SEPARATORS.search(name) or name in ("", ".", ".."):
        raise ValueError(f"File: name is that of a file, not {name!r}; give a path as uri=")
    return name


def quoted(name: str) -> str:
    """Percent-encoded. A name that is not UTF-8 keeps its bytes."""
    data = name.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in data)


def extent(content: str | bytes) -> str:
    """Content as a `repr` shows it: its beginning, or how long it is."""
    return brief(content) if isinstance(content, str) else f"{len(content)} bytes"


def brief(text: str) -> str:
    """A text as a `repr` shows it."""
    return repr(text if len(text) <= _LONGEST_REPR else text[:_LONGEST_REPR] + "…")
