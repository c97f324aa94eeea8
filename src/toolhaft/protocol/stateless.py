"""The era without a handshake: each request says by itself who asks and how.

Nothing of a caller is remembered from one request to the next. What the client must know of us
is stamped on each result.
"""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Raw

from ..encoding.envelope import encode, encode_text
from ..errors import (
    BadEnvelope,
    InternalError,
    InvalidParams,
    MissingCapability,
    UnsupportedVersion,
    shown,
)
from ..types.notifications import LEVELS
from ..types.rounds import InputRequest, InputRequiredResult, ListRootsParams
from ..types.wire import Implementation, RequestMeta
from .calls import Call, Caller, Result
from .elicitation.questions import (
    Answered,
    Decision,
    Question,
    Questions,
    Suspended,
    lacking,
    required,
)
from .elicitation.rounds import LAST_ROUND, Journal, Pages, given_answers
from .lowering import lowered
from .revisions import ASKING, REVISIONS, SUPPORTED, Revision

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_VERSION = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_LEVEL = "io.modelcontextprotocol/logLevel"
# It is cheaper to copy a text of this length than to avoid it.
_SHORT = 4096


def missing_meta(what: str) -> BadEnvelope:
    """The error for a request that belongs to neither era."""
    return BadEnvelope(
        f"{what}: send `initialize` first, or put `{_VERSION}` and `{_CAPABILITIES}` into "
        "`params._meta` of every request"
    )


def missing_envelope(date: str) -> BadEnvelope:
    """The error for a request without an envelope, whose header names a revision that has them."""
    return BadEnvelope(
        f"the header MCP-Protocol-Version is {date}, whose requests have `{_VERSION}` and "
        f"`{_CAPABILITIES}` in `params._meta`: put them there, or send `initialize` without this "
        "header, and after it the version that was agreed on"
    )


def unknown_header(sent: str) -> BadEnvelope:
    """The error for a request without an envelope, whose header names a revision that nobody knows
    here. Code and status are those of an envelope that is missing: its rules may be newer."""
    known = ", ".join(SUPPORTED)
    return BadEnvelope(
        f"the header MCP-Protocol-Version is {shown(sent)}; this server speaks {known}"
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
        raise BadEnvelope(f"the request lacks `{_CAPABILITIES}` in `params._meta`")
    revision = REVISIONS.get(meta.version)
    if revision is None or revision.handshake:
        raise UnsupportedVersion(meta.version, SUPPORTED)
    client = None if meta.client is UNSET else meta.client
    level = None if meta.log_level is UNSET else _level(meta.log_level)
    return Caller(revision, meta.capabilities, client, level, principal)


def _level(wanted: str) -> int:
    for place, name in enumerate(LEVELS):
        if name == wanted:
            return place
    raise InvalidParams(f"`{_LEVEL}`: expected one of {', '.join(LEVELS)}, got {shown(wanted)}")


class Sealer(Protocol):
    """What seals the state of a call, bound to that call: `sealing.Seal`."""

    @property
    def hides(self) -> bool: ...
    def binding(
        self, method: str, target: str, arguments: Any, principal: str | None, /
    ) -> Any: ...
    def seal(self, binding: Any, pages: Pages, /) -> str: ...
    def open(self, state: Raw, binding: Any, /) -> Pages: ...


class Stateless:
    """Finishes results of this era: the type of the result, and who sends it.

    A call that asks is answered with its questions, and comes again with the answers and with the
    state that we have sealed. Without a seal nothing can be asked.

    Args:
        seal: makes the seal, when it is first needed: most servers ask nothing.
    """

    __slots__ = ("_asking_stamp", "_info", "_make_seal", "_seal", "_stamp")

    _TYPE = b'{"resultType":"complete"'
    _ASKING_TYPE = b'{"resultType":"input_required"'

    def __init__(self, info: Implementation, seal: Callable[[], Sealer] | None = None) -> None:
        self._info = info
        self._make_seal = seal
        self._seal: Sealer | None = None
        self.sign()

    def sign(self) -> None:
        """Stamp results with what the server says of itself now. From any thread."""
        signed = b',"_meta":{"%b":%b},' % (SERVER_INFO.encode(), encode(self._info))
        self._stamp = self._TYPE + signed
        self._asking_stamp = self._ASKING_TYPE + signed

    @property
    def hides(self) -> bool:
        """Can a client not read what it carries for us?"""
        return self._make_seal is not None and self._sealed().hides

    def resume(self, call: Call) -> None:
        """Take in what came with the call: our state, and answers.

        Raises:
            InvalidParams: the state is not good, or the answers are none.
        """
        params = call.params
        given = given_answers(params.input_responses)
        if params.request_state is UNSET:
            call.journal = Journal(given=given)
            return
        call.journal = Journal(
            self._sealed().open(params.request_state, self._binding(call)), given
        )

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
        if call.method not in ASKING:
            raise InternalError(f"{call.method} cannot ask its client")
        if call.journal is None:
            call.journal = Journal()
        answers, still_open = call.journal.look_up(questions)
        if questions and not still_open:
            return Answered(answers)
        if call.journal.round >= LAST_ROUND:
            raise call.journal.exhausted()
        return Suspended(still_open)

    def suspend(self, call: Call, questions: Questions) -> bytes:
        """The questions, and the state that the client sends back with its answers."""
        assert call.journal is not None
        state = self._sealed().seal(self._binding(call), call.journal.pages())
        result = InputRequiredResult(
            input_requests={
                key: _request(question, call.caller.revision) for key, question in questions.items()
            }
            or UNSET,
            request_state=state,
        )
        return _stamped(self._asking_stamp, encode_text(result))

    def _sealed(self) -> Sealer:
        if self._seal is None:
            if self._make_seal is None:
                raise InternalError("this server has no secret, without which it cannot ask")
            self._seal = self._make_seal()
        return self._seal

    def _binding(self, call: Call) -> Any:
        params = call.params
        target = params.uri if call.method == "resources/read" else params.name
        arguments = getattr(params, "arguments", UNSET)
        return self._sealed().binding(call.method, target, arguments, call.caller.principal)

    def finish(self, call: Call, result: Result) -> bytes:
        """The result with its stamps, which go in front so that nothing is copied twice."""
        if type(result) is bytes and len(result) < _SHORT and result != b"{}":
            return self._stamp + result[1:]
        if isinstance(result, bytes):
            return _stamped(self._stamp, result)
        result = lowered(result, call.caller.revision)
        meta: Any = getattr(result, "meta", UNSET)
        if meta is UNSET:
            return _stamped(self._stamp, encode_text(result))
        signed = msgspec.structs.replace(result, meta={**meta, SERVER_INFO: self._info})
        return _stamped(self._TYPE + b",", encode_text(signed))

    def refuse(self, call: Call) -> None:
        """Nothing is remembered, so nothing is taken back."""


def _stamped(stamp: bytes, body: bytes) -> bytes:
    return stamp[:-1] + b"}" if body == b"{}" else b"".join((stamp, memoryview(body)[1:]))


def _request(question: Question, revision: Revision) -> InputRequest:
    params = question.sent(revision)
    if params == ListRootsParams():
        return InputRequest(question.method)
    known = params if isinstance(params, Raw) else lowered(params, revision)
    return InputRequest(question.method, known)
