"""What a tool returns, as content blocks and structured content."""

import inspect
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from ..jsonrpc import encode
from ..protocol.calls import Result
from ..protocol.lowering import lowered
from ..protocol.revisions import Revision
from ..types.content import (
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from ..types.tools import CallToolResult
from .schema import Schema, UnknownType, schema_of

BLOCKS = (TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource)
_UNDECLARED = inspect.Parameter.empty
# Types whose values need no check beyond the type itself. A float does: it may be no number.
_SCALARS = (int, bool)


class WrongResult(Exception):
    """A tool returned what its own annotation forbids. Told to the author, not to the client."""


class Output:
    """What a return annotation promises, and how a value is rendered by it.

    Text is sent as text alone: a tool that returns `str` has no schema, for its structured form
    would only be the same bytes again. Everything else is sent as structured content, checked
    against the published schema, and mirrored as compact JSON for clients that read text.
    """

    __slots__ = ("_decode", "_is_object", "_scalar", "_text", "schema")

    def __init__(self, annotation: Any, what: str) -> None:
        self.schema: Schema | None = None
        self._decode = None
        self._text = annotation is str
        self._scalar = annotation if annotation in _SCALARS else None
        self._is_object: bool | None = None
        if annotation is _UNDECLARED or annotation in (str, None, type(None), Any, object):
            return
        if _holds_blocks(annotation):
            return
        try:
            self.schema = schema_of(annotation)
            self._decode = msgspec.json.Decoder(annotation).decode
        except (UnknownType, TypeError) as error:
            raise TypeError(f"{what}: the return annotation: {error}") from None
        self._is_object = self.schema.get("type") == "object"

    def schema_for(self, revision: Revision) -> Schema | None:
        """The schema as this revision can take it; up to 2025 its root has to be an object."""
        if self.schema is None or self._is_object or revision.any_structure:
            return self.schema
        inner = {key: value for key, value in self.schema.items() if key != "$defs"}
        wrapped: Schema = {
            "type": "object",
            "properties": {"result": inner},
            "required": ["result"],
        }
        if "$defs" in self.schema:
            wrapped["$defs"] = self.schema["$defs"]
        return wrapped

    def render(self, value: Any, revision: Revision) -> Result:
        """The result of a call, encoded here, where a value that JSON cannot hold is still the
        tool's own failure.

        Raises:
            WrongResult: the value breaks the annotation.
            TypeError, ValueError, …: whatever msgspec raises for what JSON cannot hold.
        """
        if self._text and not isinstance(value, str):
            raise WrongResult(f"it is annotated to return str, but returned {_kind(value)}")
        if self._decode is not None:
            return self._structured(value, revision)
        if isinstance(value, str):
            return _text_only(encode(value))
        if value is None:
            return _EMPTY
        if isinstance(value, CallToolResult):
            return _encoded(value, revision)
        blocks = _blocks(value)
        if blocks is not None:
            return _encoded(CallToolResult(content=blocks), revision)
        return self._structured(value, revision)

    def _structured(self, value: Any, revision: Revision) -> bytes:
        body = encode(value)
        if type(value) is self._scalar:
            return _scalar(body, revision)
        self._check(body)
        # A string is its own text; anything else is shown as the JSON it is.
        text = body if isinstance(value, str) else encode(body.decode())
        if not revision.structure:
            return _text_only(text)
        is_object = body[:1] == b"{" if self._is_object is None else self._is_object
        if not is_object and not revision.any_structure:
            body = b'{"result":%b}' % body
        return b"".join((_HEAD, text, _STRUCTURED, body, b"}"))

    def _check(self, body: bytes) -> None:
        """Is what will be sent what the schema says? So it is what is sent that is read back."""
        if self._decode is None:
            return
        try:
            self._decode(body)
        except msgspec.DecodeError as error:
            raise WrongResult(f"what it returned breaks its annotation: {error}") from None


# The common results are joined from their parts. They look as if they had been encoded, and every
# revision knows the fields they have.
_HEAD = b'{"content":[{"type":"text","text":'
_STRUCTURED = b'}],"structuredContent":'
_EMPTY = b'{"content":[]}'


def _scalar(body: bytes, revision: Revision) -> bytes:
    """A number or a truth value, whose text is its JSON and needs no escapes."""
    if not revision.structure:
        return _text_only(b'"%b"' % body)
    if revision.any_structure:
        return b'%b"%b"%b%b}' % (_HEAD, body, _STRUCTURED, body)
    return b'%b"%b"%b{"result":%b}}' % (_HEAD, body, _STRUCTURED, body)


def _text_only(text: bytes) -> bytes:
    return b"".join((_HEAD, text, b"}]}"))


def _encoded(result: CallToolResult, revision: Revision) -> Result:
    structured = result.structured_content
    if structured is not UNSET and not revision.any_structure:
        body = encode(structured)
        if body[:1] != b"{":
            result = msgspec.structs.replace(result, structured_content={"result": Raw(body)})
    encoded = encode(lowered(result, revision))
    return encoded if result.meta is UNSET else result


def _kind(value: Any) -> str:
    hint = "; did you forget to await it?" if inspect.iscoroutine(value) else ""
    return type(value).__name__ + hint


def _blocks(value: Any) -> list[Content] | None:
    """The value as content blocks, if that is what it is."""
    if isinstance(value, BLOCKS):
        return [value]
    if not isinstance(value, list | tuple) or not value:
        return None
    items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
    if not any(isinstance(item, BLOCKS) for item in items):
        return None
    return [item if isinstance(item, BLOCKS) else TextContent(str(item)) for item in items]


def _holds_blocks(annotation: Any) -> bool:
    """Does the annotation name content blocks, alone, in a list or in a union?"""
    if isinstance(annotation, type):
        return issubclass(annotation, (*BLOCKS, CallToolResult))
    return any(_holds_blocks(arg) for arg in getattr(annotation, "__args__", ()))
