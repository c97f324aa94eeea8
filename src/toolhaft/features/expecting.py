"""What the makers of content expect of their arguments, and how they say so."""

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from msgspec import UNSET, UnsetType

from ..patterns import pattern
from ..types.content import Annotations, Role

T = TypeVar("T")

Bytes: TypeAlias = bytes | bytearray | memoryview
BYTES = (bytes, bytearray, memoryview)
SEPARATORS = pattern(r"[/\\]")
_ROLES = ("user", "assistant")
_SCHEME = pattern(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MEDIA_TYPE = pattern(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:\s*;.*)?")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_LONGEST_REPR = 40


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


def valid_uri(what: str, uri: str) -> str:
    """A URI, if it has a scheme."""
    if not _SCHEME.match(expect(what, "uri", uri, str)):
        raise ValueError(f"{what}: a URI begins with a scheme, as in notes://{uri}, not {uri!r}")
    return uri


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
