"""The era without a handshake: each request says by itself who asks and how.

Nothing of a caller is remembered from one request to the next. What the client must know of us
is stamped on each result.
"""

from typing import Any

import msgspec
from msgspec import UNSET

from ..errors import InvalidParams, MissingCapability, UnsupportedVersion, shown
from ..jsonrpc import encode
from ..types.notices import LEVELS
from ..types.wire import Implementation, RequestMeta
from .calls import Call, Caller, Result
from .lowering import lowered
from .questions import Decision, Questions, Suspended, lacking, required
from .revisions import REVISIONS, SUPPORTED

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_VERSION = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_LEVEL = "io.modelcontextprotocol/logLevel"


def missing_meta(what: str) -> InvalidParams:
    """The error for a request that belongs to neither era."""
    return InvalidParams(
        f"{what}: send `initialize` first, or put `{_VERSION}` and `{_CAPABILITIES}` into "
        "`params._meta` of every request"
    )


def identify(meta: RequestMeta, principal: str | None) -> Caller:
    """The caller, from the envelope of its request.

    Raises:
        InvalidParams: the envelope is incomplete.
        UnsupportedVersion: it claims a revision that has no envelope, or none that we know.
    """
    if meta.version is UNSET:
        raise missing_meta("the request lacks its protocol version")
    if meta.capabilities is UNSET:
        raise InvalidParams(f"the request lacks `{_CAPABILITIES}` in `params._meta`")
    revision = REVISIONS.get(meta.version)
    if revision is None or revision.handshake:
        raise UnsupportedVersion(meta.version, SUPPORTED)
    return Caller(
        revision,
        meta.capabilities,
        None if meta.client is UNSET else meta.client,
        log_level=_level(meta),
        principal=principal,
    )


def _level(meta: RequestMeta) -> int | None:
    if meta.log_level is UNSET:
        return None
    for place, name in enumerate(LEVELS):
        if name == meta.log_level:
            return place
    raise InvalidParams(
        f"`{_LEVEL}`: expected one of {', '.join(LEVELS)}, got {shown(meta.log_level)}"
    )


class Stateless:
    """Finishes results of this era: the type of the result, and who sends it."""

    __slots__ = ("_info", "_stamp")

    _TYPE = b'{"resultType":"complete"'

    def __init__(self, info: Implementation) -> None:
        self._info = info
        self._stamp = self._TYPE + b',"_meta":{"%b":%b}' % (SERVER_INFO.encode(), encode(info))

    def ask(self, call: Call, questions: Questions) -> Decision:
        """In the answer to the call, which the client then sends again with what it was asked.

        Raises:
            MissingCapability: the client did not say that it can answer this.
        """
        caller = call.caller
        if missing := lacking(caller.capabilities, caller.revision, questions.values()):
            raise MissingCapability(
                f"this needs the capability {' and '.join(missing)}", required=required(missing)
            )
        return Suspended(dict(questions))

    def finish(self, call: Call, result: Result) -> bytes:
        """The result with its stamps, which go in front so that nothing is copied twice."""
        if isinstance(result, bytes):
            return self._stamped(self._stamp, result)
        result = lowered(result, call.caller.revision)
        meta: Any = getattr(result, "meta", UNSET)
        if meta is UNSET:
            return self._stamped(self._stamp, encode(result))
        signed = msgspec.structs.replace(result, meta={**meta, SERVER_INFO: self._info})
        return self._stamped(self._TYPE, encode(signed))

    def refuse(self, call: Call) -> None:
        """Nothing is remembered, so nothing is taken back."""

    @staticmethod
    def _stamped(stamp: bytes, body: bytes) -> bytes:
        return stamp + b"}" if body == b"{}" else b"".join((stamp, b",", memoryview(body)[1:]))
