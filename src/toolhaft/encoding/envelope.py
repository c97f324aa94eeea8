"""The envelope of JSON-RPC 2.0: bytes to a message or a fault, and back, for the library itself.

A call of a tool is read in one pass, with its arguments left raw; of any other message the envelope
is read and `params` left raw. Frames as clients write them need no second look. All others go the
careful way, which finds out what is wrong, if anything is, and salvages the id, so that the sender
learns which of its requests failed.
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
# A frame that goes out. A long one may be in pieces, which follow each other.
Outgoing: TypeAlias = bytes | tuple[bytes, ...]

# It is cheaper to copy a text of this length than to hand it down in pieces.
LONG = 4096


class Message(Struct, gc=False):
    """A request (method and id), a notification (method) or a response (id)."""

    jsonrpc: Literal["2.0"]
    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: RawField = UNSET
    result: RawField = UNSET
    error: RawField = UNSET


class Fault(Struct, gc=False):
    """A frame that is no message: what to answer, and to which id if that could be read.

    `error` is None for what must not be answered, such as a response without a usable id."""

    error: McpError | None
    id: Id | UnsetType = UNSET


class ToolCall(Struct, gc=False):
    """A request to call a tool, whose parameters are read already."""

    jsonrpc: Literal["2.0"]
    id: Id
    method: Literal["tools/call"]
    params: CallToolParams


_decode_message = msgspec.json.Decoder(Message).decode
_decode_tool_call = msgspec.json.Decoder(ToolCall).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode
_decode_anything = msgspec.json.Decoder().decode
# To see whether it is JSON. Whether a float can hold a number is not asked here, so it is read as
# something else.
_decode_roughly = msgspec.json.Decoder(float_hook=bool).decode
_NO_METHOD = 'a request needs a "method", which is a string'


def _plain(value: object) -> object:
    """What is a text or a number by another name, as NumPy has some; msgspec does not see that."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int | float):
        return float(value) if isinstance(value, float) else int(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


# JSON, compact. Raises what msgspec raises for what JSON cannot hold. No function of ours is around
# it, since it is called for every answer.
encode = msgspec.json.Encoder(enc_hook=_plain).encode


def encode_text(value: object) -> bytes:
    """The same for what holds text of authors, in which half of a surrogate pair may stand."""
    try:
        return encode(value)
    except UnicodeEncodeError:
        return encode_mended(value, _plain)


def encode_mended(value: object, hook: Callable[[Any], Any]) -> bytes:
    """JSON of a value whose text has halves of surrogate pairs, which UTF-8 cannot hold: each is
    replaced by U+FFFD.

    Args:
        hook: writes what msgspec does not know.
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


# How long the parts of a frame are that is written compactly: the envelope, and what each member
# adds to it.
_BASE = len(b'{"jsonrpc":"2.0","method":""}')
_ID, _PARAMS, _META = len(b',"id":'), len(b',"params":'), len(b',"_meta":')
_CALL = _BASE + _ID + _PARAMS
_TOOL_CALL = _CALL + len(b'tools/call{"name":"","arguments":}')

_WITH_BLANKS = (
    b'{"jsonrpc": "2.0", "id": %b, "method": "tools/call", "params": {"name": %b, "arguments": '
)

# CPython refuses to convert longer numbers, and so do we, wherever they stand.
_LONGEST_NUMBER = 4300
_STRIDE = _LONGEST_NUMBER // 2
_TWO_DIGITS = pattern(rb"[0-9]{2}")

# How many members an envelope may have: we know six, and others are ignored.
_MOST_MEMBERS = 1000
_BOM = b"\xef\xbb\xbf"

Decoded: TypeAlias = Message | ToolCall | Fault


def decode(data: bytes) -> Decoded | list[Raw]:
    """One frame: a message, a fault, or the parts of a batch, unread. Never raises.

    A call of a tool, which is what clients send most, is read in one pass, if it is written as
    clients do."""
    if len(data) > LARGE and (much := excess(data)) is not None:
        return Fault(InvalidRequest(f"too much for one message: {much}"), salvage_id(data))
    try:
        call = _decode_tool_call(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return decode_message(data)
    # As in `decode_message`: the known members of the envelope and of the parameters fill the
    # frame, so that there are no others.
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
    """Is it written as Python's `json` does by default, and has nothing else in it?"""
    params = call.params
    head = _WITH_BLANKS % (encode(call.id), encode(params.name))
    size = len(head) + len(cast(Raw, params.arguments)) + len(b"}}")
    if params.meta is not UNSET:
        size += len(b', "_meta": ') + len(params.meta)
    return size == len(data) and data.startswith(head)


def decode_message(data: bytes) -> Message | Fault | list[Raw]:
    """The same, with the parameters of any request unread."""
    try:
        message = _decode_message(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _diagnose(data)
    # msgspec looks at the syntax of raw members, at escapes and at surrogates, but not whether a
    # string is UTF-8, nor how long a number is, and it lets the last of two members with the same
    # name win. That there are no two is seen by arithmetic: if the known members alone fill the
    # frame, in whatever order, there is no other, and no name is spelled with an escape.
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
    """May there be a number too long? A run of that length covers two samples in a row."""
    return _TWO_DIGITS.search(data[::_STRIDE]) is not None


def _examine(data: bytes, message: Message) -> Message | Fault:
    """The careful way for what is a message, unless it is no JSON, or has a member twice."""
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
        return _twice(twice, message.id)
    is_answer = message.result is not UNSET or message.error is not UNSET
    if message.method is UNSET:
        return _response(message) if is_answer else Fault(InvalidRequest(_NO_METHOD), message.id)
    if is_answer:
        return Fault(InvalidRequest("a request must not have a result or an error"), message.id)
    return message


def _diagnose(data: bytes) -> Message | Fault | list[Raw]:
    """The careful way for what is no message: what is it?"""
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
    """The parts of a batch. Each becomes an object of Python, also where it is but a digit."""
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
    """One message of a batch. Never raises."""
    message = decode_message(bytes(item))
    if isinstance(message, list):
        return Fault(InvalidRequest("a batch must not hold another batch"))
    return message


def _no_message(data: bytes, value: dict[str, Any]) -> Fault:
    """What is wrong with an object that is no message, and its id if that can be read."""
    id_ = value.get("id", UNSET)
    known: Id | UnsetType = id_ if type(id_) in (int, str) else UNSET
    if len(value) <= _MOST_MEMBERS and (twice := repeated(data)):
        return _twice(twice, known)
    if "method" not in value and ("result" in value or "error" in value):
        return Fault(None)
    if value.get("jsonrpc") != "2.0":
        return Fault(InvalidRequest('"jsonrpc" must be "2.0"'), known)
    if id_ is not UNSET and known is UNSET:
        return Fault(InvalidRequest("the id of a request must be a string or an integer"))
    return Fault(InvalidRequest(_NO_METHOD), known)


def _twice(name: str, id_: Id | UnsetType) -> Fault:
    # An id that stands twice is no id.
    known = UNSET if name == "id" else id_
    return Fault(ParseError(f"the member {shown(name)} stands twice; send it once"), known)


def _response(message: Message) -> Message | Fault:
    """Answering a response would make two peers talk for ever, so a bad one is only dropped."""
    if message.id is UNSET or (message.result is UNSET) == (message.error is UNSET):
        return Fault(None)
    return message


def is_null(raw: Raw) -> bool:
    """Is a raw member just `null`? Ask only if it has that length."""
    return bytes(raw) == b"null"


def response(id_: Id, result: bytes) -> bytes:
    """A successful answer; `result` is the text of a JSON object."""
    return b"".join((b'{"jsonrpc":"2.0","id":', encode(id_), b',"result":', result, b"}"))


def in_pieces(id_: Id, result: bytes) -> tuple[bytes, ...]:
    """The same for a long result, which is not copied for it."""
    return b'{"jsonrpc":"2.0","id":%b,"result":' % encode(id_), result, b"}"


def whole(frame: Outgoing) -> bytes:
    """A frame in one piece."""
    return frame if isinstance(frame, bytes) else b"".join(frame)


def failure(id_: Id | UnsetType, error: McpError, code: int | None = None) -> bytes:
    """An error answer. An id that could not be read is left out, as in MCP's own schema."""
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
    """A message without an id, whose method is one of the protocol's; `params` is the text of a
    JSON object."""
    return b"".join((_notification(method), params, b"}"))


@lru_cache(32)
def _notification(method: str) -> bytes:
    return b'%b"%b","params":' % (_NOTIFICATION, method.encode())


def request(id_: Id, method: str, params: bytes) -> bytes:
    """A request of ours; `params` is the text of a JSON object."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (
        encode(id_),
        encode(method),
        params,
    )


def is_notification(frame: bytes) -> bool:
    """Is this frame, which we have made, a notification?"""
    return frame.startswith(_NOTIFICATION)
