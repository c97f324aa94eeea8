"""The envelope of JSON-RPC 2.0: bytes to a message or a fault, and back, for the library itself.

Decoding is done twice at most. The quick way reads the envelope with msgspec and leaves `params`
raw. Whatever it does not accept, or cannot vouch for, goes the careful way, which finds out what
is wrong and salvages the id, so that the sender learns which of its requests failed.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from .errors import InvalidRequest, McpError, ParseError, clipped, shown
from .patterns import pattern

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


_decode_message = msgspec.json.Decoder(Message).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode
_decode_anything = msgspec.json.Decoder().decode


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


_BASE = len(b'{"jsonrpc":"2.0","method":""}')
_ID, _PARAMS = len(b',"id":'), len(b',"params":')
_CALL = _BASE + _ID + _PARAMS

# CPython refuses to convert longer numbers, and so do we, wherever they stand.
_LONGEST_NUMBER = 4300
_STRIDE = _LONGEST_NUMBER // 2
_TWO_DIGITS = pattern(rb"[0-9]{2}")
_BACKSLASH = 0x5C

# How far a broken text is searched for its id, and how large an envelope may be.
_SALVAGE = 65536
_TOKEN = pattern(rb'"(?:[^"\\]|\\.)*+"|[{}\[\]:"]', re.DOTALL)
_VALUE = rb'(-?(?:0|[1-9][0-9]{0,4299})|"(?:[^"\\]|\\.)*+")'
_ID_VALUE = pattern(rb"\s*%b\s*[,}]" % _VALUE, re.DOTALL)

# How a request ends whose writer adds the envelope behind the parameters. The two members side by
# side stand nowhere else: in a string their quotes would be escaped.
_JSONRPC = rb'"jsonrpc"\s*:\s*"2\.0"'
_ID_LAST = pattern(rb'[,{]\s*%b\s*,\s*"id"\s*:\s*%b\s*\}\s*\Z' % (_JSONRPC, _VALUE), re.DOTALL)
_ID_THEN = pattern(rb'[,{]\s*"id"\s*:\s*%b\s*,\s*%b\s*\}\s*\Z' % (_VALUE, _JSONRPC), re.DOTALL)
_LAST = 1024

Decoded: TypeAlias = Message | Fault


def decode(data: bytes) -> Decoded | list[Raw]:
    """One frame: a message, a fault, or the parts of a batch, unread. Never raises."""
    try:
        message = _decode_message(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _diagnose(data)
    # msgspec skips over raw members without looking into strings and numbers, and lets the last of
    # two equal keys win. Compact frames without escapes, which is what clients send, are cleared
    # here by arithmetic: if the known members alone fill the frame, there is no other.
    id_, method, params = message.id, message.method, message.params
    if method is UNSET:
        return _diagnose(data, message)
    if type(id_) is int and params is not UNSET:
        size = _CALL + len(method) + len(str(id_)) + len(params)
    else:
        size = _BASE + len(method)
        if type(id_) is int:
            size += _ID + len(str(id_))
        elif type(id_) is str:
            size += _ID + 2 + len(id_)
        if params is not UNSET:
            size += _PARAMS + len(params)
    if (
        size == len(data)
        and data.isascii()
        and _BACKSLASH not in data
        and (size <= _LONGEST_NUMBER or not _digits(data))
    ):
        return message
    return _diagnose(data, message)


def _digits(data: bytes) -> bool:
    """May there be a number too long? A run of that length covers two samples in a row."""
    return _TWO_DIGITS.search(data[::_STRIDE]) is not None


def _diagnose(data: bytes, message: Message | None = None) -> Decoded | list[Raw]:
    """The careful way: everything is decoded, and every member of the envelope is looked at."""
    try:
        data.decode()
        value = _decode_anything(data)
        if isinstance(value, list):
            return _decode_items(data) or Fault(InvalidRequest("a batch must not be empty"))
        if not isinstance(value, dict):
            return Fault(InvalidRequest("a message must be a JSON object"))
        return _envelope(data, cast(dict[str, Any], value), message)
    except UnicodeDecodeError as exc:
        return _unreadable(data, f"not UTF-8 at byte {exc.start}")
    except msgspec.DecodeError as exc:
        return _unreadable(data, str(exc).removeprefix("JSON is malformed: "))
    except (RecursionError, ValueError):
        return _unreadable(data, "nested too deeply or a number too long")


def _unreadable(data: bytes, why: str) -> Fault:
    return Fault(ParseError(f"not JSON: {clipped(why)}"), salvage_id(data))


def decode_part(item: Raw) -> Decoded:
    """One message of a batch. Never raises."""
    message = decode(bytes(item))
    if isinstance(message, list):
        return Fault(InvalidRequest("a batch must not hold another batch"))
    return message


def _envelope(data: bytes, value: dict[str, Any], message: Message | None) -> Decoded:
    rest = _without_params(data, message)
    if len(rest) > _SALVAGE:
        return _unreadable(data, "too much around the parameters")
    # Keys may be spelled with escapes, so they are compared as what they mean.
    keys = [_decode_anything(key) for key, _ in _members(rest)]
    id_ = value.get("id", UNSET)
    readable = type(id_) in (int, str) and keys.count("id") < 2
    known: Id | UnsetType = id_ if readable else UNSET
    if repeated := _repeated(keys):
        return Fault(ParseError(f"the member {shown(repeated)} stands twice"), known)
    if "method" not in value and ("result" in value or "error" in value):
        return _response(message)
    if value.get("jsonrpc") != "2.0":
        return Fault(InvalidRequest('"jsonrpc" must be "2.0"'), known)
    if id_ is not UNSET and not readable:
        return Fault(InvalidRequest("the id of a request must be a string or an integer"))
    if not isinstance(value.get("method"), str):
        return Fault(InvalidRequest('a request needs a "method", which is a string'), known)
    if message is None or "result" in value or "error" in value:
        return Fault(InvalidRequest("a request must not have a result or an error"), known)
    return message


def _repeated(keys: list[str]) -> str | None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return None


def _response(message: Message | None) -> Decoded:
    """Answering a response would make two peers talk for ever, so a bad one is only dropped."""
    if message is None or message.id is UNSET:
        return Fault(None)
    if (message.result is UNSET) == (message.error is UNSET):
        return Fault(None)
    return message


def _without_params(data: bytes, message: Message | None) -> bytes:
    """The frame without its largest member, so that looking at the keys is quick. What is no
    message is refused anyway, and looked at no further than an envelope may reach."""
    if message is None:
        return data[:_SALVAGE]
    payload = bytes(next((raw for raw in _payloads(message) if raw is not UNSET), b""))
    start = data.find(payload)
    return data[:start] + b"0" + data[start + len(payload) :] if payload else data


def _payloads(message: Message) -> tuple[RawField, ...]:
    return message.params, message.result, message.error


def _members(data: bytes) -> Iterator[tuple[bytes, int]]:
    """The keys of the outermost object as they are spelled, each with where its value starts."""
    depth, key = 0, b""
    for token in _TOKEN.finditer(data):
        text = token.group()
        if text == b'"':
            return  # a string that never ends
        if text == b":":
            if depth == 1 and key:
                yield key, token.end()
            key = b""
        elif text in b"{[":
            depth += 1
            if depth == 1 and text == b"[":
                return
        elif text in b"}]":
            depth -= 1
        elif depth == 1:
            key = text


def salvage_id(data: bytes, tail: bytes = b"") -> Id | UnsetType:
    """The id of a request whose text is broken or cut off, if it stands there beyond doubt.

    Args:
        tail: how the request ends, if `data` is only how it begins.
    """
    head = data[:_SALVAGE]
    starts = [start for key, start in _members(head) if _is_id(key)]
    value = _ID_VALUE.match(head, starts[0]) if len(starts) == 1 else None
    if not starts and (tail or len(data) > _SALVAGE) and head.lstrip().startswith(b"{"):
        end = (tail or data)[-_LAST:]
        value = _ID_LAST.search(end) or _ID_THEN.search(end)
    if value is None:
        return UNSET
    try:
        id_ = _decode_anything(value.group(1))
    except (msgspec.MsgspecError, UnicodeError):
        return UNSET
    return id_ if type(id_) in (int, str) else UNSET


def _is_id(key: bytes) -> bool:
    """Does a key, which may be spelled with escapes, mean `id`?"""
    if b"\\" not in key:
        return key == b'"id"'
    try:
        return bool(_decode_anything(key) == "id")
    except (msgspec.MsgspecError, UnicodeError):
        return False


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
