"""The envelope of JSON-RPC 2.0: bytes to a message or a fault, and back.

A tool call is decoded in one pass, with its arguments left raw; of any other message the envelope
is decoded and `params` left raw. Frames written in the usual forms need no further check. All
others are checked member by member; if one is invalid, its id is salvaged, so that the sender can
match the error to a request.
"""

from collections.abc import Callable, Sized
from functools import lru_cache
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ..errors import InvalidRequest, McpError, ParseError, clipped, shown
from ..lazy_regex import pattern
from ..types.tools import CallToolParams
from .json_bounds import LARGE, MOST_CONTAINERS, excess
from .json_members import members_of, repeated, repeated_of, salvage_id

Id: TypeAlias = int | str
RawField: TypeAlias = Raw | UnsetType
# An outgoing frame: bytes, or consecutive pieces of a long one.
Outgoing: TypeAlias = bytes | tuple[bytes, ...]

# Bytes of a result from which a frame is sent in pieces: copying a shorter one is cheaper.
LONG = 4096


class Message(Struct):
    """A request (method and id), a notification (method) or a response (id)."""

    jsonrpc: Literal["2.0"]
    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: RawField = UNSET
    result: RawField = UNSET
    error: RawField = UNSET


class Fault(Struct):
    """A frame that is not a message: the error to answer with, and the id if it could be read.

    `error` is None if the frame must not be answered, such as a response without a usable id.
    """

    error: McpError | None
    id: Id | UnsetType = UNSET


class ToolCall(Struct):
    """A `tools/call` request with decoded parameters."""

    jsonrpc: Literal["2.0"]
    id: Id
    method: Literal["tools/call"]
    params: CallToolParams


_decode_message = msgspec.json.Decoder(Message).decode
_decode_tool_call = msgspec.json.Decoder(ToolCall).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode
_decode_anything = msgspec.json.Decoder().decode
# Validates JSON syntax. `float_hook=bool` accepts numbers outside the range of a float.
_decode_roughly = msgspec.json.Decoder(float_hook=bool).decode
_NO_METHOD = 'a request needs a "method", which is a string'


def _plain(value: object) -> object:
    """Convert subclasses of str, int and float, such as NumPy's, which msgspec does not encode."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int | float):
        return float(value) if isinstance(value, float) else int(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


# Compact JSON. Raises the errors of msgspec. Not wrapped in a function, since it is called for
# every answer.
encode = msgspec.json.Encoder(enc_hook=_plain).encode


def encode_text(value: object) -> bytes:
    """Encode a value with text of an author, which may contain lone surrogates."""
    try:
        return encode(value)
    except UnicodeEncodeError:
        return encode_mended(value, _plain)


def encode_mended(value: object, hook: Callable[[Any], Any]) -> bytes:
    """Encode a value as JSON, with U+FFFD for each lone surrogate, which UTF-8 cannot encode.

    Args:
        hook: converts types that msgspec does not encode.
    """

    def plain(unknown: Any) -> Any:
        return _decode_anything(unknown) if isinstance(unknown, Raw) else hook(unknown)

    return encode(_mended(msgspec.to_builtins(value, str_keys=True, enc_hook=plain)))


def _mended(value: Any) -> Any:
    kind = cast(Any, type(value))
    if kind is str:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if kind is dict:
        return {_mended(key): _mended(each) for key, each in value.items()}
    if kind is list or kind is tuple:
        return [_mended(each) for each in value]
    return value


# Lengths in bytes of the parts of a compact frame: the envelope, and each further member.
_BASE = len(b'{"jsonrpc":"2.0","method":""}')
_ID, _PARAMS, _META = len(b',"id":'), len(b',"params":'), len(b',"_meta":')
_CALL = _BASE + _ID + _PARAMS
_TOOL_CALL = _CALL + len(b'tools/call{"name":"","arguments":}')

_WITH_BLANKS = (
    b'{"jsonrpc": "2.0", "id": %b, "method": "tools/call", "params": {"name": %b, "arguments": '
)

# Digits of a number: CPython does not convert longer ones, so none is accepted anywhere.
_LONGEST_NUMBER = 4300
_STRIDE = _LONGEST_NUMBER // 2
_TWO_DIGITS = pattern(rb"[0-9]{2}")

# Members of an envelope: six are known, and others are ignored.
_MOST_MEMBERS = 1000
_BOM = b"\xef\xbb\xbf"

Decoded: TypeAlias = Message | ToolCall | Fault


def decode(data: bytes) -> Decoded | list[Raw]:
    """Decode a frame to a message, a fault, or the raw parts of a batch. Never raises.

    A tool call, the most frequent message, is decoded in one pass if it is written in a usual form.
    """
    if len(data) > LARGE and (much := excess(data)) is not None:
        return Fault(InvalidRequest(f"too much for one message: {much}"), salvage_id(data))
    try:
        call = _decode_tool_call(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return decode_message(data)
    # As in `decode_message`: if the known members of envelope and parameters fill the frame, there
    # are no others.
    id_, params = call.id, call.params
    arguments, meta = params.arguments, params.meta
    if arguments is UNSET:
        return decode_message(data)
    size = _TOOL_CALL + len(params.name) + len(arguments)
    size += len(str(id_)) if type(id_) is int else 2 + len(cast(str, id_))
    if meta is not UNSET:
        size += _META + len(meta)
    if (
        (size == len(data) or _has_blanks(data, call))
        and (data.isascii() or _is_utf8(data))
        and (size <= _LONGEST_NUMBER or not _digits(data))
    ):
        return call
    return decode_message(data)


def _has_blanks(data: bytes, call: ToolCall) -> bool:
    """Return whether a frame is written as `json.dumps` does by default, without other members."""
    params = call.params
    head = _WITH_BLANKS % (encode(call.id), encode(params.name))
    size = len(head) + len(cast(Raw, params.arguments)) + len(b"}}")
    if params.meta is not UNSET:
        size += len(b', "_meta": ') + len(params.meta)
    return size == len(data) and data.startswith(head)


def decode_message(data: bytes) -> Message | Fault | list[Raw]:
    """Decode a frame like `decode`, with the parameters of any request raw."""
    try:
        message = _decode_message(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _diagnose(data)
    # In raw members msgspec checks syntax, escapes and surrogates, but not UTF-8 nor the length of
    # numbers, and of two members with the same name it takes the last. Duplicates are excluded by
    # arithmetic: if the lengths of the known members add up to the length of the frame, there is no
    # other member, and no name is written with an escape.
    id_, method, params = message.id, message.method, message.params
    if method is UNSET:
        return _examine(data, message)
    size = _BASE + len(method)
    if type(id_) is int:
        size += _ID + len(str(id_))
    elif type(id_) is str:
        size += _ID + 2 + len(id_)
    if params is not UNSET:
        size += _PARAMS + len(params)
    if (
        size == len(data)
        and (data.isascii() or _is_utf8(data))
        and (size <= _LONGEST_NUMBER or not _digits(data))
    ):
        return message
    return _examine(data, message)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _digits(data: bytes) -> bool:
    """Return whether a number may be too long: a run of that length covers two samples in a row."""
    return _TWO_DIGITS.search(data[::_STRIDE]) is not None


def _examine(data: bytes, message: Message) -> Message | Fault:
    """Check a decoded message for what the decoder ignores, such as duplicate members."""
    try:
        data.decode()
        if len(data) > _LONGEST_NUMBER and _digits(data):
            _decode_roughly(data)
        members = members_of(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return _unreadable(data, error)
    if len(members) > _MOST_MEMBERS:
        return Fault(InvalidRequest(f"a message has at most {_MOST_MEMBERS} members"), message.id)
    if twice := repeated_of(data, members):
        return _duplicate(twice, message.id)
    is_answer = message.result is not UNSET or message.error is not UNSET
    if message.method is UNSET:
        return _response(message) if is_answer else Fault(InvalidRequest(_NO_METHOD), message.id)
    if is_answer:
        return Fault(InvalidRequest("a request must not have a result or an error"), message.id)
    return message


def _diagnose(data: bytes) -> Message | Fault | list[Raw]:
    """Find out why a frame is not a message: it may be a batch, or invalid."""
    if data.startswith(_BOM) and not data.startswith(_BOM, len(_BOM)):
        # RFC 8259, 8.1: parsers "MAY ignore the presence of a byte order mark rather than treating
        # it as an error".
        return decode_message(data[len(_BOM) :])
    try:
        data.decode()
        value = _decode_roughly(data)
        if isinstance(value, list):
            return _batch(data, len(cast(Sized, value)))
        if not isinstance(value, dict):
            return Fault(InvalidRequest("a message must be a JSON object"))
        return _no_message(data, cast(dict[str, Any], value))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return _unreadable(data, error)


def _batch(data: bytes, size: int) -> Fault | list[Raw]:
    """Split a batch into raw parts. Bounded, since each part becomes a Python object."""
    if size > MOST_CONTAINERS:
        return Fault(InvalidRequest(f"a batch holds more than {MOST_CONTAINERS:,} items"))
    return _decode_items(data) or Fault(InvalidRequest("a batch must not be empty"))


def _unreadable(data: bytes, error: Exception) -> Fault:
    if isinstance(error, UnicodeDecodeError):
        why = f"not UTF-8 at byte {error.start}"
    elif isinstance(error, msgspec.DecodeError):
        why = str(error).removeprefix("JSON is malformed: ")
    else:
        why = "nested too deeply or a number too long"
    return Fault(ParseError(f"not JSON: {clipped(why)}"), salvage_id(data))


def decode_part(item: Raw) -> Message | Fault:
    """Decode one part of a batch. Never raises."""
    message = decode_message(bytes(item))
    if isinstance(message, list):
        return Fault(InvalidRequest("a batch must not hold another batch"))
    return message


def _no_message(data: bytes, value: dict[str, Any]) -> Fault:
    """Return the fault of an object that is not a message, with its id if that can be read."""
    id_ = value.get("id", UNSET)
    known: Id | UnsetType = id_ if type(id_) in (int, str) else UNSET
    if len(value) <= _MOST_MEMBERS and (twice := repeated(data)):
        return _duplicate(twice, known)
    if "method" not in value and ("result" in value or "error" in value):
        return Fault(None)
    if value.get("jsonrpc") != "2.0":
        return Fault(InvalidRequest('"jsonrpc" must be "2.0"'), known)
    if id_ is not UNSET and known is UNSET:
        return Fault(InvalidRequest("the id of a request must be a string or an integer"))
    return Fault(InvalidRequest(_NO_METHOD), known)


def _duplicate(name: str, id_: Id | UnsetType) -> Fault:
    # A duplicate id is ambiguous.
    known = UNSET if name == "id" else id_
    return Fault(ParseError(f"the member {shown(name)} stands twice; send it once"), known)


def _response(message: Message) -> Message | Fault:
    """Check a response. An invalid one is dropped: answering it could start an endless exchange."""
    if message.id is UNSET or (message.result is UNSET) == (message.error is UNSET):
        return Fault(None)
    return message


def is_null(raw: Raw) -> bool:
    """Return whether a raw member is `null`. Copies it, so check its length first."""
    return bytes(raw) == b"null"


def response(id_: Id, result: bytes) -> bytes:
    """Encode a successful response; `result` is the text of a JSON object."""
    return b"".join((b'{"jsonrpc":"2.0","id":', encode(id_), b',"result":', result, b"}"))


def in_pieces(id_: Id, result: bytes) -> tuple[bytes, ...]:
    """Encode a successful response in pieces, without copying a long result."""
    return b'{"jsonrpc":"2.0","id":%b,"result":' % encode(id_), result, b"}"


def whole(frame: Outgoing) -> bytes:
    """Return a frame in one piece."""
    return frame if isinstance(frame, bytes) else b"".join(frame)


def failure(id_: Id | UnsetType, error: McpError, code: int | None = None) -> bytes:
    """Encode an error response. An unknown id is omitted, as MCP's schema allows."""
    body: dict[str, Any] = {
        "code": error.code if code is None else code,
        "message": error.message.encode("utf-8", "replace").decode(),
    }
    if error.data is not UNSET:
        body["data"] = error.data
    head = b"" if id_ is UNSET else b'"id":%b,' % encode(id_)
    return b'{"jsonrpc":"2.0",%b"error":%b}' % (head, encode(body))


_NOTIFICATION = b'{"jsonrpc":"2.0","method":'


def notification(method: str, params: bytes) -> bytes:
    """Encode a notification; `method` needs no escapes, `params` is the text of a JSON object."""
    return b"".join((_notification(method), params, b"}"))


@lru_cache(32)
def _notification(method: str) -> bytes:
    return b'%b"%b","params":' % (_NOTIFICATION, method.encode())


def request(id_: Id, method: str, params: bytes) -> bytes:
    """Encode a request; `params` is the text of a JSON object."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (
        encode(id_),
        encode(method),
        params,
    )


def is_notification(frame: bytes) -> bool:
    """Return whether a frame made by `notification` or `request` is a notification."""
    return frame.startswith(_NOTIFICATION)
