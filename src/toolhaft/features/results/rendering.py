"""What a tool returns, as content blocks and structured content."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Never, NewType, NoReturn, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, Raw

from ...encoding.envelope import encode_mended, encode_text
from ...errors import ToolError
from ...protocol.calls import Result as Outgoing
from ...protocol.lowering import lowered
from ...protocol.revisions import Revision
from ...schema.annotated import read_metadata
from ...schema.codecs import (
    codec_of,
    decoder_of,
    error_lines,
    how_to_await,
    write_hook,
    write_mended,
)
from ...schema.codecs import write as encode
from ...schema.from_types import JSON_TYPES_ADVICE, Schema, UnknownType, schema_of
from ...types.tools import CallToolResult
from ..functions.markers import InputRequired
from ..lazy_validation import Explicit, problems
from ..type_checks import BYTES
from .content import WIRE_BLOCKS, Block, Result, block_of_bytes, blocks_of, check_metas

_UNDECLARED = inspect.Parameter.empty
# What says nothing of the shape of a result, or what is sent as content alone.
_UNSTRUCTURED = (str, None, type(None), Any, object, NoReturn, Never, *BYTES)
_WHOLE = (Result, CallToolResult)
_CONTENT = (Block, Result, CallToolResult, *WIRE_BLOCKS, *BYTES)
_decode_anything = msgspec.json.Decoder().decode
# Types whose values need no check beyond the type itself. A float does: it may be no number.
_SCALARS = (int, bool)
# Keywords whose operands are no schemas, and those whose are schemas by name.
_DATA = ("const", "enum", "default", "examples")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


class WrongResult(Exception):
    """A tool returned what its own annotation forbids. Told to the author, not to the client."""

    for_client = "its result is not what it promises"


class Output:
    """What a return annotation promises, and how a value is rendered by it.

    Text is sent as text alone: a tool that returns `str` has no schema, for its structured form
    would only be the same bytes again. Everything else is sent as structured content, checked
    against the published schema, and mirrored as compact JSON for clients that read text.
    """

    __slots__ = (
        "_check",
        "_contentful",
        "_is_object",
        "_limit",
        "_name",
        "_scalar",
        "_text",
        "schema",
    )

    def __init__(
        self, annotation: Any, name: str, *, explicit: Explicit | None = None, limit: int = 1 << 24
    ) -> None:
        self._name = name
        self._limit = limit
        self.schema = None if explicit is None else explicit.schema
        self._check: Callable[[bytes], None] | None = None
        annotation = _bare(annotation)
        self._contentful = False
        self._text = annotation is str and explicit is None
        self._scalar = annotation if annotation in _SCALARS and explicit is None else None
        self._is_object: bool | None = None
        if explicit is not None:
            self._check = partial(_check_by_schema, explicit.problems)
        elif annotation is not _UNDECLARED and annotation not in _UNSTRUCTURED:
            self._declare(annotation)
        if self.schema is not None:
            self._is_object = self.schema.get("type") == "object"

    def _declare(self, annotation: Any) -> None:
        if _holds_content(annotation):
            self._contentful = True
            return
        try:
            self.schema = schema_of(annotation)
            kind = codec_of(annotation)
            if self.schema == {"type": "array"}:  # of anything: content, as well as data
                self.schema = None
                return
        except (UnknownType, TypeError, RecursionError) as error:
            raise TypeError(
                f"tool {self._name!r}: the return annotation: {error or 'a type without an end'}; "
                f"{JSON_TYPES_ADVICE}"
            ) from None
        by_schema = partial(_check_by_schema, partial(problems, schema=self.schema))
        by_type = partial(_check_by_type, decoder_of(kind.native, strict=True).decode)
        if kind.uses_pydantic:  # what a model writes is not always what it reads
            self._check = by_schema
        else:
            self._check = partial(_check_by_both, by_type, by_schema) if kind.checked else by_type

    def schema_for(self, revision: Revision) -> Schema | None:
        """The schema as this revision can take it; up to 2025 its root has to be an object."""
        if self.schema is None or self._is_object or revision.any_structure:
            return self.schema
        return {
            "type": "object",
            "properties": {"result": _moved(self.schema, "#/properties/result")},
            "required": ["result"],
        }

    def render(self, value: Any, revision: Revision) -> Outgoing:
        """The result of a call, encoded here, where a value that JSON cannot hold is still the
        tool's own failure.

        Raises:
            WrongResult: the value breaks the annotation.
            ToolError: it is larger than a client should be sent.
            TypeError, ValueError, …: whatever msgspec raises for what JSON cannot hold.
        """
        if type(value) is self._scalar:
            return _scalar(encode(value), revision)
        if self._text and not isinstance(value, str):
            if not isinstance(value, Result):
                raise WrongResult(f"it is annotated to return str, but returned {_kind(value)}")
        elif self._check is not None and not isinstance(value, _WHOLE):
            return self._structured(value, revision)
        if isinstance(value, str):
            try:
                text = encode(value)
            except UnicodeEncodeError:
                text = encode_mended(value, write_hook)
            return self._fit(_text_only(text))
        if value is None:
            return _EMPTY
        return self._content(value, revision)

    def _content(self, value: Any, revision: Revision) -> Outgoing:
        if isinstance(value, InputRequired):
            raise WrongResult("it says so if it may ask: -> str | InputRequired, or the like")
        if isinstance(value, Result):
            value = value.wire()
        if isinstance(value, CallToolResult):
            return self._whole(value, revision)
        if isinstance(value, BYTES):
            data = bytes(cast(bytes, value))
            value = block_of_bytes(data, f"result:///{self._name}")
        blocks = blocks_of(value, always=self._contentful)
        if blocks is not None:
            return self._whole(CallToolResult(content=blocks), revision)
        if self._contentful:
            raise WrongResult(f"it is annotated to return content, but returned {_kind(value)}")
        return self._structured(value, revision)

    def _structured(self, value: Any, revision: Revision) -> bytes:
        try:
            body = encode(value)
        except UnicodeEncodeError:
            body = encode_mended(value, write_hook)
        if self._check is not None:
            self._check(body)
        # A string is its own text; anything else is shown as the JSON it is.
        text = body if body[:1] == b'"' else encode(body.decode())
        if not revision.structure:
            return self._fit(_text_only(text))
        is_object = body[:1] == b"{" if self._is_object is None else self._is_object
        if not is_object and not revision.any_structure:
            body = b'{"result":%b}' % body
        return self._fit(b"".join((_HEAD, text, _STRUCTURED, body, b"}")))

    def _whole(self, result: CallToolResult, revision: Revision) -> Outgoing:
        """A result that the author has put together."""
        check_metas(result)
        structured = result.structured_content
        if structured is not UNSET:
            body = write_mended(structured)
            if self._check is not None and result.is_error is not True:
                self._check(body)
            is_object = body[:1] == b"{" if self._is_object is None else self._is_object
            is_wrapped = not revision.any_structure and not is_object
            result = msgspec.structs.replace(
                result, structured_content={"result": Raw(body)} if is_wrapped else Raw(body)
            )
        elif self.schema is not None and result.is_error is not True:
            raise WrongResult("it promises structured content, and its Result has none")
        encoded = self._fit(encode_text(lowered(result, revision)))
        # One that says it failed stays what it is, so that whoever counts can see it.
        is_plain = result.meta is UNSET and result.is_error is not True
        return encoded if is_plain else result

    def _fit(self, body: bytes) -> bytes:
        if len(body) > self._limit:
            raise ToolError(
                f"the result of {self._name} is too large: {len(body)} bytes, and at most "
                f"{self._limit} are sent; ask for less"
            )
        return body


def _check_by_type(decode: Callable[[bytes], Any], body: bytes) -> None:
    """Is what will be sent what the schema says? So it is what is sent that is read back."""
    try:
        decode(body)
    except msgspec.ValidationError as error:
        words = "; ".join(f"result{line}" for line in error_lines(error))
        raise WrongResult(f"what it returned breaks its annotation: {words}") from None


def _check_by_schema(problems: Callable[..., list[str]], body: bytes) -> None:
    found = problems(_decode_anything(body), where="result")
    if found:
        raise WrongResult(f"what it returned breaks its output schema: {'; '.join(found)}")


def _check_by_both(
    by_type: Callable[[bytes], None], by_schema: Callable[[bytes], None], body: bytes
) -> None:
    by_type(body)
    by_schema(body)


def _bare(annotation: Any) -> Any:
    """`Annotated[str, "what it is"]` is a `str`, unless a note constrains it."""
    if isinstance(annotation, NewType):
        return _bare(annotation.__supertype__)
    if get_origin(annotation) is not Annotated:
        return annotation
    base, *notes = get_args(annotation)
    read = read_metadata(notes)
    return annotation if read.bounds or read.pydantic_only is not None else base


# The common results are joined from their parts. They look as if they had been encoded, and every
# revision knows the fields they have.
_HEAD = b'{"content":[{"type":"text","text":'
_STRUCTURED = b'}],"structuredContent":'
_QUOTED, _UNQUOTED = _HEAD + b'"', b'"' + _STRUCTURED
_EMPTY = b'{"content":[]}'


def _scalar(body: bytes, revision: Revision) -> bytes:
    """A number or a truth value, whose text is its JSON and needs no escapes."""
    if not revision.structure:
        return _text_only(b'"%b"' % body)
    if revision.any_structure:
        return b"".join((_QUOTED, body, _UNQUOTED, body, b"}"))
    return b"".join((_QUOTED, body, _UNQUOTED, b'{"result":', body, b"}}"))


def _text_only(text: bytes) -> bytes:
    return b"".join((_HEAD, text, b"}]}"))


def _moved(schema: Any, to: str) -> Any:
    """A schema that is now elsewhere: what refers to its root refers to there. One that has an id
    is its own root, wherever it is."""
    if isinstance(schema, list):
        return [_moved(item, to) for item in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, dict) or "$id" in schema:
        return cast(Any, schema)
    return {key: _moved_part(key, value, to) for key, value in cast(Schema, schema).items()}


def _moved_part(keyword: str, value: Any, to: str) -> Any:
    if keyword == "$ref":
        # The others name an anchor, which moves by itself, or another document.
        return to + value[1:] if value == "#" or str(value).startswith("#/") else value
    if keyword in _DATA:
        return value
    if keyword in _NAMED and isinstance(value, dict):  # by names, which may be those of keywords
        return {name: _moved(each, to) for name, each in cast(Schema, value).items()}
    return _moved(value, to)


def _kind(value: Any) -> str:
    hint = f"; {how_to_await(value)}" if inspect.iscoroutine(value) else ""
    return type(value).__name__ + hint


def _holds_content(annotation: Any) -> bool:
    """Does the annotation name content, alone, in a list or in a union?"""
    if isinstance(annotation, type):
        return issubclass(annotation, _CONTENT)
    if get_origin(annotation) is dict:
        return False
    return any(_holds_content(arg) for arg in getattr(annotation, "__args__", ()))
