"""A call and what surrounds it: the values that the protocol, the features and the runtime share.

A call is the unit. Each transport makes `Call`s out of bytes and turns their outcomes into bytes;
what happens between the two knows neither the transport nor the era.
"""

from collections.abc import Awaitable, Callable, Coroutine, Generator, Hashable, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from ..encoding.envelope import Id
from ..errors import McpError
from ..types.wire import Identity, RequestMeta, Wire, meta_of
from .elicitation.questions import Decision, Questions
from .elicitation.rounds import Journal
from .ports import Place
from .revisions import Revision

# What middleware of others needs; the rest is for the library itself.
__all__ = ["Exchange", "Middleware", "Next", "Result"]

# A result is a struct, or the text of a JSON object that was encoded for this revision before.
Result: TypeAlias = Wire | bytes


class Caller(Struct, eq=False, gc=False):
    """Whom we serve: filled in by the era, read by everyone else."""

    revision: Revision
    capabilities: Mapping[str, Any]
    client: Identity | None
    # The place in LEVELS from which on messages are wanted; None means not at all.
    log_level: int | None = None
    principal: str | None = None


class Era(Protocol):
    """How a client is asked and how a result is finished.

    The two eras are `handshake.Session` and `stateless.Stateless`."""

    @property
    def hides(self) -> bool:
        """May a call remember what its client must not see?"""
        ...

    def ask(self, call: "Call", questions: Questions) -> Decision:
        """What to do to have these answered.

        Raises:
            ToolError: the client cannot be asked.
            MissingCapability: it did not say that it can.
        """
        ...

    def suspend(self, call: "Call", questions: Questions) -> bytes:
        """The text of a result that asks instead of answering.

        Raises:
            InternalError: there is too much to remember until the client comes back.
        """
        ...

    def finish(self, call: "Call", result: Result) -> bytes:
        """The text of the result as this caller may see it."""
        ...

    def refuse(self, call: "Call") -> None:
        """The call ends with an error."""
        ...


class Subject(Struct, eq=False):
    """What a call is about, once that is found: a tool, a prompt, a resource or a template, by the
    name that its author has given it. Clients cannot make any up."""

    name: str
    # The same thing in an included server, where it comes from; and who counts there.
    inner: "Subject | None" = None
    counter: "Counter | None" = None
    # Where calls of it are counted: a note of whoever counts them.
    tally: Any = None


class Call(Struct, eq=False, gc=False):
    """A request that was understood and has to be answered once."""

    id: Id
    method: str
    params: Any
    caller: Caller
    era: Era
    # What the library itself reads of `_meta`.
    request_meta: RequestMeta
    # Of the HTTP request it came with, by their names in lower case.
    headers: Mapping[str, str] | None = None
    # The client no longer wants the answer.
    cancelled: bool = False
    # Answered or cancelled: nothing more may be sent for this call.
    over: bool = False
    # It took longer than its author allows.
    overdue: bool = False
    # What was asked and answered in earlier rounds, and is in this one.
    journal: Journal | None = None
    # What it is about, if it got so far, and when it began.
    subject: Subject | None = None
    began: float = 0.0
    # Where the author's functions have to run, if anywhere in particular.
    place: Place | None = None

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` that the client sent, read when it is asked for."""
        return meta_of(self.params.meta)


class Notice(Struct, gc=False):
    """A notification of the client that the driver may want to know of."""

    method: str


class Cancel(Struct, gc=False):
    """The client no longer wants the answer to this request."""

    id: Id


class Answer(Struct, gc=False):
    """The client's answer to a request of ours."""

    id: Id
    result: bytes | UnsetType = UNSET
    error: bytes | UnsetType = UNSET


class Reply(Struct):
    """A frame to send as it is: the message was refused by the protocol itself."""

    frame: bytes
    # It was raised, and so knows the functions through which it went, whose variables this is one
    # of: a circle, which the garbage collector has to see.
    error: McpError
    # What was asked for, if that much was understood: in the client's words.
    method: str = ""


class Batch(Struct):
    """Several messages that came as one, and are answered as one."""

    events: list["Single"]


Single: TypeAlias = Call | Notice | Cancel | Answer | Reply
Event: TypeAlias = Single | Batch


class Blocking(Struct, gc=False):
    """Work that must not run on the loop: the runtime gives it a thread.

    `inline` is the author's word that it only computes and may run where it is. `always` is for
    clean-up, which is due even if nobody wants the answer any more."""

    work: Callable[[], Any]
    inline: bool = False
    always: bool = False


class Finisher(Protocol):
    """Turns what a function of an author gave into a result."""

    def finish(self, exchange: "Exchange", subject: Any, value: Any, /) -> Result:
        """The result for a returned value."""
        ...

    def explain(self, exchange: "Exchange", subject: Any, error: BaseException, /) -> Result:
        """The result for a raised error, or that error raised again."""
        ...


class Awaiting(Struct):
    """A coroutine of an author that the driver runs as it is, not inside of one of ours.

    Its value, or its error, becomes a result by `finisher`."""

    coroutine: Coroutine[Any, Any, Any]
    finisher: Finisher
    subject: Any


class Ready:
    """Nothing to wait for, which whoever knows it need not even await."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        return iter(())  # type: ignore[return-value]


READY: Final = Ready()


Outcome: TypeAlias = Result | Coroutine[Any, Any, Result] | Blocking | Awaiting


class Cleanup(Protocol):
    """A call closes what it has opened."""

    @property
    def expired(self) -> bool:
        """Was it cancelled, because it took too long?"""
        ...

    def end(self) -> None:
        """It is over."""
        ...


class Exchange(Protocol):
    """A call in progress, as its handler sees it: the call itself, and what can be done meanwhile.

    One object for both, for there is one of them for every request."""

    id: Id
    method: str
    params: Any
    caller: Caller
    era: Era
    cancelled: bool
    overdue: bool
    headers: Mapping[str, str] | None
    journal: Journal | None
    subject: Subject | None
    place: Place | None

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` that the client sent; empty if it sent none."""
        ...

    @property
    def suspended(self) -> bool:
        """Does it make way, so that its client can be asked?"""
        ...

    def notify(self, method: str, params: Wire) -> None:
        """Send a notification that belongs to this call. From any thread; only one of a tool waits,
        while the client does not read."""
        ...

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """Tell the client how far this call is, if it asked to know and is farther than before.
        From any thread; nobody waits.

        Raises:
            ValueError: a number is not finite, or too large for one.
            TypeError: it is no number, or the message is no text.
        """
        ...

    def throttle(self) -> None:
        """For tool threads, after they have told something: wait while the client does not read."""
        ...

    def soon(self, key: Hashable, action: Callable[[], None]) -> None:
        """Do something in a moment, and only once for a key. From any thread."""
        ...

    def drain(self) -> Awaitable[None]:
        """Wait until the client has read enough of what was sent; `READY` if it has."""
        ...

    async def ask(self, questions: Questions) -> dict[str, Any]:
        """Put questions to the client, all at once, and wait for the answers.

        A key is a name for the question; an empty one gets a number. No questions at all: the
        client is only to come back.

        Raises:
            ToolError: it cannot be asked, or does not answer.
        """
        ...

    def ask_from_thread(self, questions: Questions) -> dict[str, Any]:
        """The same for a plain function, which waits on its thread."""
        ...

    async def step(self, name: str, act: Callable[[], Awaitable[bytes]]) -> bytes:
        """Do something that is not done again when the call is, and what it gave.

        Raises:
            ToolError: it was done, and what it gave is not known any more.
        """
        ...

    def step_from_thread(self, name: str, act: Callable[[], bytes]) -> bytes:
        """The same for a plain function."""
        ...

    def hang_up(self) -> None:
        """End the connection on which the answer is awaited, not the call: over HTTP, a client that
        can come back for the rest does. Elsewhere nothing happens."""
        ...

    async def closing(self) -> None:
        """Wait until the connection is about to end."""
        ...

    async def settle(self, outcome: Outcome) -> Result:
        """Wait for an outcome, wherever it is computed."""
        ...

    async def apart(self, work: Callable[[], Any]) -> Any:
        """The value of work of ours that may take long: on a worker thread, whatever place the
        author's functions have."""
        ...

    def clean_up(self, result: Result, error: BaseException | None) -> Cleanup:
        """The function has ended, with a result or an error, and the call begins to close what it
        has opened. Until that has ended the server does not cancel the call, but for a cleanup
        that takes too long. On the thread or in the task that cleans up.
        """
        ...

    async def within(
        self, seconds: float, outcome: Coroutine[Any, Any, Result], what: str
    ) -> Result:
        """Wait for an outcome, but not for ever. A function that has ended in time is only waited
        for while it cleans up.

        Raises:
            ToolError: it took longer. It is told so, and cleans up after itself in its own time.
        """
        ...


# How a call ended, if it did not simply succeed: with a JSON-RPC error; with a result that says
# `isError`; because nobody wants the answer any more; with questions.
Fate: TypeAlias = Literal["error", "failure", "cancelled", "asked"]


class Calls(Protocol):
    """Whoever has calls under way."""

    @property
    def calls(self) -> Mapping[Hashable, Call]: ...


class Counter(Protocol):
    """Counts what clients ask for. Everything from any thread."""

    def ended(self, call: Call, fate: Fate | None, /) -> None:
        """A call is over; its answer comes next."""
        ...

    def passed(self, method: str, subject: Subject, seconds: float, fate: Fate | None, /) -> None:
        """A call of another server that includes this one was a call of ours."""
        ...

    def refused(self, method: str, call: Call | None = None, /) -> None:
        """A request, or what should have been one, was answered with an error before it was a
        call, or before it could begin."""
        ...

    def noticed(self, method: str, /) -> None:
        """A notification has come."""
        ...

    def watch(self, calls: Calls, /) -> None:
        """Look here for calls that are under way, for as long as it is there."""
        ...

    def summary(self) -> str:
        """Calls and errors in a line."""
        ...

    def reset(self) -> None:
        """Begin anew."""
        ...


Handler: TypeAlias = Callable[[Exchange], Outcome]


class Dispatching(Protocol):
    """What finds the handler of a call. By a method: to call an object costs several times that."""

    def outcome(self, exchange: Exchange, /) -> Outcome:
        """What comes of a call."""
        ...


Next: TypeAlias = Callable[[Exchange], Coroutine[Any, Any, Result]]
Middleware: TypeAlias = Callable[[Exchange, Next], Awaitable[Result]]
