"""Every error the library raises, and every JSON-RPC code it sends.

BaseException
├── Cancelled               raised by `ctx.check()` in a plain function
└── Suspension              raised by `ctx.sync` in one that asks, if the call is to run again

Exception
├── ToolError               the tool's own «this did not work», shown to the model
└── McpError                becomes a JSON-RPC error
    ├── ParseError              -32700  the bytes are not JSON
    ├── InvalidRequest          -32600  JSON, but not a request
    ├── MethodNotFound          -32601
    ├── InvalidParams           -32602
    │   ├── BadEnvelope                 it does not say who asks
    │   └── NotFound                    a resource; the code depends on the revision
    ├── InternalError           -32603
    ├── PromptError             -32603  a prompt's own «this did not work»
    ├── ResourceError                   a resource's; the author gives the code
    ├── Unauthorized            -32600  over HTTP, 401
    ├── HeaderMismatch          -32020  a header does not repeat what the body says
    ├── MissingCapability       -32021  the client did not declare what the call needs
    └── UnsupportedVersion      -32022
"""

from typing import Any

from msgspec import UNSET, UnsetType

ECHO_LIMIT = 200


def clipped(text: str) -> str:
    """A text that is never long, whatever the peer had to do with it."""
    return text if len(text) <= ECHO_LIMIT else text[:ECHO_LIMIT] + "…"


def shown(value: str) -> str:
    """Text of the peer as it may appear in a message: quoted, and never long."""
    return repr(clipped(value).encode("utf-8", "replace").decode())


class Cancelled(BaseException):
    """The client has cancelled the call. Not an `Exception`: no tool shall catch it by chance."""


class Suspension(BaseException):
    """The call has to make way, so that its client can be asked, and will then run again."""


class ToolError(Exception):
    """A failure that the model should read: the call ends with `isError` and exactly this text."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = str(message)


class McpError(Exception):
    """A failure that the client should handle: the call ends with a JSON-RPC error."""

    code: int = -32603

    def __init__(self, message: str, *, code: int | None = None, data: Any = UNSET) -> None:
        super().__init__(message)
        self.message = str(message)
        self.data: Any | UnsetType = data
        if code is not None:
            self.code = code


class ParseError(McpError):
    """The bytes are not one JSON text in UTF-8."""

    code = -32700


class InvalidRequest(McpError):
    """JSON, but not a request this peer may send now."""

    code = -32600


class MethodNotFound(McpError):
    """The method does not exist in the caller's revision, or its capability is not offered."""

    code = -32601


class InvalidParams(McpError):
    """The method exists; its parameters, or what they name, do not."""

    code = -32602


class BadEnvelope(InvalidParams):
    """A request that does not say who asks, as each request of its era has to."""


class NotFound(InvalidParams):
    """A resource that does not exist. `-32002` up to 2025, `-32602` after: the row decides."""

    def __init__(self, message: str, *, uri: str | None = None) -> None:
        super().__init__(message, data=UNSET if uri is None else {"uri": uri})


class InternalError(McpError):
    """Something of ours or of the author's broke. Details are in the log, never in here."""

    code = -32603


class PromptError(McpError):
    """A prompt that cannot be written, with words for the client."""

    code = -32603


# The codes of JSON-RPC that an answer to a request for a resource can have.
_MEANT = frozenset(
    {InvalidRequest.code, MethodNotFound.code, InvalidParams.code, InternalError.code}
)


class ResourceError(McpError):
    """A resource that cannot be read, with a code and words for the client.

    The code is one of your own, or one that the protocol uses. A client whose revision does not
    let servers send it gets another one with the same words.

    Raises:
        TypeError: the code is no number.
        ValueError: the code has no meaning in any revision, and must not be used.
    """

    def __init__(self, code: int, message: str, *, data: Any = UNSET) -> None:
        if not isinstance(code, int) or isinstance(code, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                "ResourceError takes a code and then the words, as in "
                f"ResourceError(2001, 'the disk is full'); {code!r} is no code"
            )
        if -32768 <= code <= -32100 and code not in _MEANT:
            raise ValueError(
                f"ResourceError({code}): JSON-RPC keeps this code for itself; take one of the "
                "protocol, such as -32602, or one outside of -32768 to -32000, such as 2001"
            )
        super().__init__(message, code=code, data=data)


class Unauthorized(McpError):
    """Raised by a guard: who asks is not known, or is not let in. Becomes 401 over HTTP.

    Args:
        challenge: what `WWW-Authenticate` says of how to be let in.
    """

    code = -32600

    def __init__(self, message: str = "say who you are", *, challenge: str = "Bearer") -> None:
        super().__init__(message)
        self.challenge = challenge


class HeaderMismatch(McpError):
    """A header of the HTTP request does not repeat what the body says."""

    code = -32020

    def __init__(
        self, name: str, sent: str | None, expected: str | None, why: str | None = None
    ) -> None:
        said = "is missing" if sent is None else f"is {shown(sent)}"
        meant = "" if expected is None else f"; the body says {shown(expected)}"
        super().__init__(f"Header mismatch: {name} {why or said}{meant}")


class MissingCapability(McpError):
    """The client did not declare a capability that this call cannot do without."""

    code = -32021

    def __init__(self, message: str, *, required: dict[str, Any]) -> None:
        super().__init__(message, data={"requiredCapabilities": required})


class UnsupportedVersion(McpError):
    """The request claims a revision that is not served in this way."""

    code = -32022

    def __init__(self, requested: str, supported: list[str]) -> None:
        if requested in supported:
            message = f"version {requested} begins with `initialize`, not with an envelope"
        else:
            known = ", ".join(supported)
            message = f"unsupported protocol version {shown(requested)}; this server speaks {known}"
        super().__init__(
            message,
            data={"supported": supported, "requested": requested},
        )
