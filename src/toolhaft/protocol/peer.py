"""The whole core: bytes to events, outcomes to bytes.

Duties of the driver: send each `Reply`; answer each `Call` once, `completed` or `failed`, unless it
was cancelled; drop the call that a `Cancel` names; hand each `Answer` to whoever waits for it; do
the same with each event of a `Batch`, and send its answers as one array.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ..encoding.envelope import (
    LONG,
    Decoded,
    Fault,
    Id,
    Message,
    Outgoing,
    ToolCall,
    decode,
    decode_part,
    encode_text,
    failure,
    in_pieces,
    is_null,
    notification,
    response,
)
from ..encoding.json_bounds import TooMuch
from ..encoding.json_members import members_of, repeated, repeated_of
from ..errors import (
    InvalidParams,
    InvalidRequest,
    McpError,
    MethodNotFound,
    NotFound,
    ParseError,
    clipped,
    shown,
)
from ..types.notifications import Cancelled
from ..types.tools import CallToolParams
from ..types.wire import Implementation, Params, RequestMeta, Wire
from .calls import Answer, Batch, Call, Caller, Cancel, Event, Notice, Reply, Result, Single
from .elicitation.questions import Questions
from .handshake import NEW, Session
from .http.headers import VERSION, Envelope, Head
from .lowering import lowered
from .revisions import METHODS, Method, Revision
from .stateless import Stateless, identify, missing_envelope, missing_meta, unknown_header

_NO_META = RequestMeta()
_LARGEST_BATCH = 1000
# Of a larger one so many requests are told by their ids that it is refused.
_MOST_REFUSED = 10 * _LARGEST_BATCH
# Of envelopes that are remembered, so many bytes each.
_LONGEST_ENVELOPE = 1000
_INITIALIZED = "notifications/initialized"
_NO_PARAMS = Raw(b"{}")
_BEFORE_THE_HANDSHAKE = ("initialize", "ping")
# How msgspec says that something is not there, and what it calls kinds of values.
_LACKS = "Object missing required field `"
_KINDS = {"str": "a string", "int": "an integer", "bool": "a boolean", "object": "an object"}
# Stands for what is in no table, so that its envelope is read all the same.
_ANY_METHOD = Method("", msgspec.json.Decoder(Params).decode)
_decode_meta = msgspec.json.Decoder(RequestMeta).decode


class _InABatch(Head):
    """Stands for the headers of a message that has none of its own."""

    __slots__ = ()

    def check_version(self, meta: RequestMeta) -> None:
        """Only a revision without envelopes has batches."""
        raise InvalidRequest("a request with an envelope travels alone, not in an array")


_IN_A_BATCH = _InABatch(())


class Peer:
    """One client, of either era or of both at once."""

    __slots__ = ("_make_call", "_methods", "_stateless", "session")

    def __init__(
        self,
        info: Implementation,
        *,
        session: Session | None = None,
        stateless: Stateless | None = None,
        methods: Mapping[str, Method] = METHODS,
        call: Callable[..., Call] = Call,
    ) -> None:
        self.session = session if session is not None else Session()
        # Holds nothing of a client, so that many may share one.
        self._stateless = stateless if stateless is not None else Stateless(info)
        self._methods = methods
        # What makes a call of a request: a driver may have a class of its own.
        self._make_call = call

    def receive(self, data: bytes, principal: str | None = None) -> Event:
        """What a frame means. Never raises, whatever the bytes."""
        return self.take(decode(data), principal)

    def take(
        self, decoded: Decoded | list[Raw], principal: str | None = None, head: Head | None = None
    ) -> Event:
        """What a frame means that was decoded before. Over HTTP its headers are compared with it.
        Never raises.

        The same client names the same tool with the same `_meta` again and again. A call that says
        in its headers and in its envelope just what an accepted one has said needs no further
        check: its arguments are all that is new. That saves about 12,000 of the 61,000 instructions
        that a mounted call took beyond a bare application."""
        if type(decoded) is ToolCall:
            if head is not None and (accepted := head.accepted) is not None:
                params = decoded.params
                if (
                    accepted.text == params.meta
                    and accepted.name == params.name
                    and accepted.principal == principal
                    and params.request_state is UNSET
                    and params.input_responses is UNSET
                ):
                    make_call = self._make_call
                    return make_call(
                        decoded.id, "tools/call", params, accepted.caller, self._stateless,
                        accepted.meta, head,
                    )  # fmt: skip
            try:
                return self._call(decoded.id, decoded.method, decoded.params, principal, head)
            except McpError as error:
                return Reply(failure(decoded.id, error), error, decoded.method)
        if type(decoded) is Message:
            id_, method = decoded.id, decoded.method
            if id_ is UNSET or method is UNSET:
                if method == _INITIALIZED and self.session.state is not NEW:
                    self.session.is_initialized = True
                return _other(decoded)
            try:
                return self._call(id_, method, decoded.params, principal, head)
            except McpError as error:
                return Reply(failure(id_, error), error, method)
        if type(decoded) is Fault:
            return _fault(decoded)
        return self._batch(cast(list[Raw], decoded), principal)

    def _batch(self, items: list[Raw], principal: str | None) -> Event:
        # Only a session can say that its revision has batches: a request with an envelope of its
        # own belongs to a revision that has none.
        if self.session.state == NEW or not self.session.caller.revision.batches:
            return _refused("send one message at a time, not an array")
        if len(items) > _LARGEST_BATCH:
            return _too_many(items)
        parts = map(decode_part, items)
        return Batch([cast(Single, self.take(part, principal, _IN_A_BATCH)) for part in parts])

    def _call(
        self,
        id_: Id,
        name: str,
        given: Any,
        principal: str | None,
        head: Head | None,
    ) -> Call:
        """
        Args:
            given: the parameters: a struct, if they were read with the envelope; their text; UNSET.
        """
        method = self._methods.get(name, _ANY_METHOD)
        params = given
        if type(given) is not CallToolParams:
            params = self._params(method, name, given, principal, head)
        meta = _NO_META if params.meta is UNSET else _request_meta(params.meta)
        session = self.session
        caller = session.caller
        # What nearly all requests of a session over a pipe come to, else `_accept` says what it is.
        if (
            meta.version is not UNSET
            or head is not None
            or session.state is NEW
            or name not in caller.revision.methods
        ):
            caller = self._accept(name, meta, principal, head, params)
        make_call = self._make_call
        if meta.version is not UNSET:
            if given is params and head is not None and head.accepted is None:
                _remember(head, params, principal, meta, caller)
            call = make_call(id_, name, params, caller, self._stateless, meta, head)
            if method.asks and (
                params.request_state is not UNSET or params.input_responses is not UNSET
            ):
                self._stateless.resume(call)
            return call
        if name == "initialize":
            session.open(params, principal)
            caller = session.caller
        return make_call(id_, name, params, caller, session, meta)

    def _params(
        self,
        method: Method,
        name: str,
        raw: Raw | UnsetType,
        principal: str | None,
        head: Head | None,
    ) -> Any:
        """Read the parameters of a request.

        Raises:
            McpError: they are wrong, or it is not let in anyway.
        """
        if raw is UNSET or (len(raw) == 4 and is_null(raw)):
            raw = _NO_PARAMS
        decode_params = method.decode
        try:
            params = decode_params(raw)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            # The era, the version and the method come before the shape of the parameters.
            self._accept(name, _meta(raw), principal, head, None)
            raise _misshapen(error) from None
        if len(raw) > 2:
            _check_names(raw)
        return params

    def _accept(
        self,
        name: str,
        meta: RequestMeta,
        principal: str | None,
        head: Head | None,
        params: Params | None,
    ) -> Caller:
        """Who calls: of which era is told by the version key, which is there or is not."""
        if meta.version is not UNSET:
            if head is None or head.agrees(meta.version, name, params):
                caller = identify(meta, principal)
            else:
                head.check_version(meta)
                caller = identify(meta, principal)
                head.check_route(meta.version, name, params)
        elif head is not None and head.needs_envelope(name):
            head.check_repeated()
            if head.revision is None:
                raise unknown_header(head.text(VERSION) or "")
            raise missing_envelope(head.revision.date)
        else:
            if head is not None and head.repeated:
                head.check_repeated()
            caller = self.session.caller
            if self.session.state is NEW and name not in _BEFORE_THE_HANDSHAKE:
                raise missing_meta("no session yet")
        if name not in caller.revision.methods:
            raise MethodNotFound(f"method not found: {shown(name)}")
        return caller


def _remember(
    head: Head, params: CallToolParams, principal: str | None, meta: RequestMeta, caller: Caller
) -> None:
    """A call of a tool was accepted with this head. An envelope with a token for progress is not
    kept: no other call will have the same."""
    text = cast(Raw, params.meta)
    if meta.progress_token is UNSET and len(text) <= _LONGEST_ENVELOPE:
        # A copy, since a part of a message keeps all of it.
        head.accepted = Envelope(text.copy(), params.name, principal, meta, caller)


def completed(call: Call, result: Result) -> Outgoing:
    """The frame of a successful answer. Raises if the result cannot be JSON."""
    text = call.era.finish(call, result)
    return in_pieces(call.id, text) if len(text) > LONG else response(call.id, text)


def suspended(call: Call, questions: Questions) -> bytes:
    """The frame of an answer that asks. Raises if there is too much to remember."""
    return response(call.id, call.era.suspend(call, questions))


def failed(call: Call, error: McpError) -> bytes:
    """The frame of an error answer."""
    call.era.refuse(call)
    code = call.caller.revision.not_found_code if isinstance(error, NotFound) else None
    try:
        return failure(call.id, error, code)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        # The author's own `data` is not JSON.
        return failure(call.id, McpError(error.message, code=error.code), code)


def notice(method: str, params: Wire, revision: Revision) -> bytes:
    """The frame of a notification, for a client of this revision."""
    return notification(method, encode_text(lowered(params, revision)))


def _meta(text: Raw) -> RequestMeta:
    """The envelope of parameters that are wrong elsewhere."""
    try:
        meta = _ANY_METHOD.decode(text).meta
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise _misshapen(error) from None
    return _NO_META if meta is UNSET else _request_meta(meta)


def _request_meta(text: Raw) -> RequestMeta:
    try:
        return _decode_meta(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise _misshapen(error, "params._meta") from None


def _check_names(params: Raw) -> None:
    """Raises:
    InvalidParams: a member of the parameters or of their arguments stands twice, or there are
        too many of them to tell."""
    try:
        members = members_of(params)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise _misshapen(error) from None
    where, arguments = "params", members.get("arguments")
    try:
        twice = repeated_of(params, members)
        if twice is None and arguments is not None:
            where = "params.arguments"
            twice = repeated(arguments)
    except TooMuch as error:
        raise InvalidParams(f"{where}: {error}") from None
    if twice is not None:
        raise InvalidParams(f"{where}: the member {shown(twice)} stands twice; send it once")


def _misshapen(error: Exception, what: str = "params") -> McpError:
    if not isinstance(error, msgspec.ValidationError):
        return ParseError(f"not JSON: {clipped(str(error))}")
    problem, _, path = str(error).partition(" - at `$")
    where = clipped(path.rstrip("`"))
    if problem.startswith(_LACKS):
        return InvalidParams(f"{what}{where}.{problem.removeprefix(_LACKS).rstrip('`')}: missing")
    problem = problem[:1].lower() + problem[1:].replace(" | ", "` or `")
    for kind, words in _KINDS.items():
        problem = problem.replace(f"`{kind}`", words)
    return InvalidParams(f"{what}{where}: {problem.replace('`', '')}")


def _refused(why: str) -> Reply:
    error = InvalidRequest(why)
    return Reply(failure(UNSET, error), error)


class _Identified(Struct):
    """As much of a request as it takes to refuse it."""

    id: Id
    method: str


_decode_identified = msgspec.json.Decoder(_Identified).decode


def _too_many(items: list[Raw]) -> Event:
    """Refuse a batch that is too large: each of its requests under its id, as far as that goes."""
    error = InvalidRequest(f"a batch holds at most {_LARGEST_BATCH} messages; send fewer at a time")
    events: list[Single] = []
    for item in items[:_MOST_REFUSED]:
        try:
            request = _decode_identified(item)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            continue
        events.append(Reply(failure(request.id, error), error, request.method))
    nameless = Reply(failure(UNSET, error), error)
    if not events:
        return nameless
    return Batch([*events, nameless] if len(items) > _MOST_REFUSED else events)


def _fault(fault: Fault) -> Single:
    error = fault.error
    return Notice("") if error is None else Reply(failure(fault.id, error), error)


def _other(message: Message) -> Single:
    """A message that is no request."""
    if message.method is UNSET:
        return _answer(message)
    return _notice(message.method, message.params)


def _answer(message: Message) -> Single:
    if message.id is UNSET:
        return Notice("")
    return Answer(
        message.id,
        result=UNSET if message.result is UNSET else bytes(message.result),
        error=UNSET if message.error is UNSET else bytes(message.error),
    )


def _notice(method: str, raw: Raw | UnsetType) -> Single:
    """Notifications are never answered, so a broken one is only not understood."""
    if method != "notifications/cancelled" or raw is UNSET:
        return Notice(method)
    try:
        cancelled = msgspec.json.decode(raw, type=Cancelled)
    except (msgspec.MsgspecError, RecursionError):
        return Notice(method)
    return Notice(method) if cancelled.request_id is UNSET else Cancel(cancelled.request_id)
