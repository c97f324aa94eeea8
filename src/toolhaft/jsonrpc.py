"""JSON-RPC 2.0, for those who write transports and tests: messages as values.

`Request`, `Notification`, `Response` and `Failure`, each with `encode()`, and `read`. What the
library itself does with bytes is in `envelope.py`.
"""

import enum
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Struct

from .encoding.envelope import Fault, Id, Message, decode_message, decode_part, encode, response
from .errors import InvalidRequest

# What there is for others; the rest may change.
__all__ = [
    "AnyMessage",
    "ErrorCode",
    "Failure",
    "Id",
    "Notification",
    "Request",
    "Response",
    "read",
]


class ErrorCode(enum.IntEnum):
    """The codes of errors: those of JSON-RPC, then those of MCP."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    # Of a resource, up to 2025-11-25; after that it is INVALID_PARAMS.
    RESOURCE_NOT_FOUND = -32002
    HEADER_MISMATCH = -32020
    MISSING_CAPABILITY = -32021
    UNSUPPORTED_VERSION = -32022

    @property
    def words(self) -> str:
        """What it means, in the words of the specification: `Method not found`."""
        return self.name.replace("_", " ").capitalize()


class Request(Struct, frozen=True):
    """A message that wants an answer."""

    id: Id
    method: str
    params: dict[str, Any] | list[Any] | None = None

    def encode(self) -> bytes:
        """The message as it is sent."""
        return _message(id=self.id, method=self.method, params=self.params)


class Notification(Struct, frozen=True):
    """A message that wants none."""

    method: str
    params: dict[str, Any] | list[Any] | None = None

    def encode(self) -> bytes:
        """The message as it is sent."""
        return _message(method=self.method, params=self.params)


class Response(Struct, frozen=True):
    """The answer to a request that succeeded."""

    id: Id
    result: Any

    def encode(self) -> bytes:
        """The message as it is sent."""
        return response(self.id, encode(self.result))


class Failure(Struct, frozen=True):
    """The answer to one that did not.

    Args:
        id: None if it could not be read.
        message: by default what the code means.
    """

    id: Id | None
    code: int
    message: str | None = None
    data: Any = UNSET

    def encode(self) -> bytes:
        """The message as it is sent; an id that is None as null, as JSON-RPC has it."""
        known = self.code in ErrorCode.__members__.values()
        words = ErrorCode(self.code).words if known else "Error"
        error = {"code": int(self.code), "message": words if self.message is None else self.message}
        if self.data is not UNSET:
            error["data"] = self.data
        return encode({"jsonrpc": "2.0", "id": self.id, "error": error})


AnyMessage: TypeAlias = Request | Notification | Response | Failure


def read(data: bytes | str) -> AnyMessage | list[AnyMessage]:
    """A message, or those of a batch.

    Raises:
        ParseError: it is not JSON.
        InvalidRequest: it is JSON, but no message.
    """
    decoded = decode_message(
        data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    )
    if isinstance(decoded, list):
        return [_value_of(decode_part(item), bytes(item)) for item in decoded]
    return _value_of(decoded, data)


def _value_of(decoded: Message | Fault, data: bytes | str) -> AnyMessage:
    if isinstance(decoded, Fault):
        if decoded.error is not None:
            raise decoded.error
        return _unaddressed(msgspec.json.decode(data))
    params = None if decoded.params is UNSET else msgspec.json.decode(decoded.params)
    if params.__class__ not in (dict, list, type(None)):
        raise InvalidRequest('"params" must be an object or an array')
    if decoded.method is not UNSET:
        if decoded.id is UNSET:
            return Notification(decoded.method, params)
        return Request(decoded.id, decoded.method, params)
    assert decoded.id is not UNSET
    if decoded.error is not UNSET:
        return _failure(decoded.id, msgspec.json.decode(decoded.error))
    assert decoded.result is not UNSET
    return Response(decoded.id, msgspec.json.decode(decoded.result))


def _unaddressed(value: dict[str, Any]) -> Failure:
    """A response without a usable id; only an error may be one."""
    if value.get("id") is not None or "result" in value or "error" not in value:
        raise InvalidRequest("a response needs an id, and either a result or an error")
    return _failure(None, value["error"])


def _failure(id_: Id | None, error: object) -> Failure:
    try:
        body = msgspec.convert(error, _ErrorBody)
    except msgspec.ValidationError:
        raise InvalidRequest("an error needs a code and a message") from None
    return Failure(id_, body.code, body.message, body.data)


class _ErrorBody(Struct):
    code: int
    message: str
    data: Any = UNSET


def _message(**members: Any) -> bytes:
    given = {name: value for name, value in members.items() if value is not None}
    return encode({"jsonrpc": "2.0", **given})
