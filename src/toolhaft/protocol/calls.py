"""Calls, their events and interfaces: the values that protocol, features and execution share.

Each transport makes `Call`s out of bytes and turns their outcomes into bytes; the code between the
two depends on neither the transport nor the era.
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

# The public names, for authors' middleware; the rest is internal.
__all__ = ["Exchange", "Middleware", "Next", "Result"]

# A struct, or the text of a JSON object that is already encoded for the caller's revision.
Result: TypeAlias = Wire | bytes


class Caller(Struct, eq=False):
    """The client behind a call, as its era identified it."""

    revision: Revision
    capabilities: Mapping[str, Any]
    client: Identity | None
    # Index in LEVELS of the lowest level to send; None for no log messages.
    log_level: int | None = None
    principal: str | None = None


class Era(Protocol):
    """The way to ask a client, and to finish a result.

    The two eras are `handshake.Session` and `stateless.Stateless`."""

    @property
    def hides(self) -> bool:
        """Whether state of a call is kept where its client cannot read it."""
        ...

    def ask(self, call: "Call", questions: Questions) -> Decision:
        """Decide how these questions get their answers.

        Raises:
            ToolError: the client cannot be asked.
            MissingCapability: the client did not declare that it can answer.
        """
        ...

    def suspend(self, call: "Call", questions: Questions) -> bytes:
        """Encode a result that consists of questions.

        Raises:
            InternalError: the request state would be too large.
        """
        ...

    def finish(self, call: "Call", result: Result) -> bytes:
        """Encode the result for the caller's revision."""
        ...

    def refuse(self, call: "Call") -> None:
        """Undo what the era recorded of a call that ends with an error."""
        ...


class Subject(Struct, eq=False):
    """The tool, prompt, resource or template that a call was resolved to.

    The name is the author's, never text of a client, so that metrics stay bounded."""

    name: str
    # The same item in the included server that it comes from, and that server's metrics.
    inner: "Subject | None" = None
    counter: "Counter | None" = None
    # Cached by the `Counter`: where calls of this subject are counted.
    tally: Any = None


class Call(Struct, eq=False):
    """A valid request, which has to be answered once."""

    id: Id
    method: str
    params: Any
    caller: Caller
    era: Era
    # The members of `_meta` that the library itself uses.
    request_meta: RequestMeta
    # Headers of its HTTP request, by lowercase name; None on other transports.
    headers: Mapping[str, str] | None = None
    # The client no longer wants the answer.
    cancelled: bool = False
    # Answered or cancelled: nothing more may be sent for this call.
    over: bool = False
    # It took longer than the author's timeout.
    overdue: bool = False
    # Questions and answers of the earlier rounds and of this one.
    journal: Journal | None = None
    # What it was resolved to, if it got so far; and its start, by `perf_counter`, in seconds.
    subject: Subject | None = None
    began: float = 0.0
    # Where the author's functions have to run; None for the loop and the thread pool.
    place: Place | None = None

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` that the client sent, decoded on access."""
        return meta_of(self.params.meta)


class Notice(Struct):
    """A notification of the client, other than a cancellation."""

    method: str


class Cancel(Struct):
    """The client no longer wants the answer to this request."""

    id: Id


class Answer(Struct):
    """The client's response to a request of the server."""

    id: Id
    result: bytes | UnsetType = UNSET
    error: bytes | UnsetType = UNSET


class Reply(Struct):
    """A frame to send as it is: the peer refused the message."""

    frame: bytes
    error: McpError
    # The method as the client spelled it; empty if it could not be read.
    method: str = ""


class Batch(Struct):
    """The messages of one array, whose answers are sent as one array."""

    events: list["Single"]


Single: TypeAlias = Call | Notice | Cancel | Answer | Reply
Event: TypeAlias = Single | Batch


class Blocking(Struct):
    """A plain function to run on a worker thread, since it may block the event loop.

    `inline`: the author declares that it only computes, so it may run on the loop. `always`: it is
    clean-up, which runs even if the call was cancelled."""

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
    """An awaitable that is done. A caller may compare with `READY` and skip the `await`."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        return iter(())  # type: ignore[return-value]


READY: Final = Ready()


Outcome: TypeAlias = Result | Coroutine[Any, Any, Result] | Blocking | Awaiting


class Cleanup(Protocol):
    """The phase in which a call closes what it has opened."""

    @property
    def expired(self) -> bool:
        """Whether it was cancelled because it took too long."""
        ...

    def end(self) -> None:
        """Mark the cleanup as done."""
        ...


class Exchange(Protocol):
    """A call in progress, as its handler sees it: the call's data, and its operations.

    Both are one object, since one is made for every request."""

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
        """Whether the call is ending this round, so that its client can be asked."""
        ...

    def notify(self, method: str, params: Wire) -> None:
        """Send a notification that belongs to this call. From any thread; blocks, while the client
        does not read, only on a worker thread of a tool."""
        ...

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """Send progress, if the client sent a progress token and `done` is more than before.
        From any thread; never blocks.

        Raises:
            ValueError: a number is not finite, or too large for a float.
            TypeError: not a number, or the message is not a string.
        """
        ...

    def throttle(self) -> None:
        """Block a worker thread, after it has sent something, while the client does not read."""
        ...

    def soon(self, key: Hashable, action: Callable[[], None]) -> None:
        """Run an action in the next loop iteration, once per key. From any thread."""
        ...

    def drain(self) -> Awaitable[None]:
        """Wait for backpressure to end; returns `READY` if there is none."""
        ...

    async def ask(self, questions: Questions) -> dict[str, Any]:
        """Send questions to the client, all at once, and wait for the answers.

        A key is a name for the question; an empty one gets a number. Without questions, the client
        only repeats the call.

        Raises:
            ToolError: the client cannot be asked, or does not answer.
        """
        ...

    def ask_from_thread(self, questions: Questions) -> dict[str, Any]:
        """Do the same as `ask` for a plain function, blocking its thread."""
        ...

    async def step(self, name: str, act: Callable[[], Awaitable[bytes]]) -> bytes:
        """Run a step, or return its recorded value if an earlier round has run it.

        Raises:
            ToolError: the step has run, but its recorded value is gone.
        """
        ...

    def step_from_thread(self, name: str, act: Callable[[], bytes]) -> bytes:
        """Do the same as `step` for a plain function."""
        ...

    def hang_up(self) -> None:
        """End the HTTP response, not the call: a client that can resume the stream does so. No
        effect on other transports."""
        ...

    async def closing(self) -> None:
        """Wait until the connection begins to shut down."""
        ...

    async def settle(self, outcome: Outcome) -> Result:
        """Wait for an outcome: a result, a coroutine, or work for a thread."""
        ...

    async def apart(self, work: Callable[[], Any]) -> Any:
        """Run the library's own slow work on a worker thread, regardless of `place`."""
        ...

    def clean_up(self, result: Result, error: BaseException | None) -> Cleanup:
        """Begin the cleanup of a call whose function has ended with a result or an error.

        Until `Cleanup.end` the server does not cancel the call, unless the cleanup takes too long.
        To be called on the thread or in the task that cleans up.
        """
        ...

    async def within(
        self, seconds: float, outcome: Coroutine[Any, Any, Result], what: str
    ) -> Result:
        """Wait for an outcome with a timeout. The cleanup of a function that has ended in time does
        not count.

        Raises:
            ToolError: it took longer. It is cancelled, and its cleanup runs to its end.
        """
        ...


# How a call ended other than with success: a JSON-RPC error; a result with `isError`; cancelled by
# the client or by its disconnection; answered with questions.
Fate: TypeAlias = Literal["error", "failure", "cancelled", "asked"]


class Calls(Protocol):
    """An object with calls in progress."""

    @property
    def calls(self) -> Mapping[Hashable, Call]: ...


class Counter(Protocol):
    """Counts calls and notifications. All methods may be called from any thread."""

    def ended(self, call: Call, fate: Fate | None, /) -> None:
        """Count a call that has ended, just before its answer is sent."""
        ...

    def passed(self, method: str, subject: Subject, seconds: float, fate: Fate | None, /) -> None:
        """Count a call of a server that includes this one, for an item of this one."""
        ...

    def refused(self, method: str, call: Call | None = None, /) -> None:
        """Count a request, or a message that is none, that was refused before its call started."""
        ...

    def noticed(self, method: str, /) -> None:
        """Count a notification of the client."""
        ...

    def watch(self, calls: Calls, /) -> None:
        """Count the calls in progress of this object, too; it is referenced weakly."""
        ...

    def summary(self) -> str:
        """Return calls and errors in one line."""
        ...

    def reset(self) -> None:
        """Set all counts to zero."""
        ...


Handler: TypeAlias = Callable[[Exchange], Outcome]


class Dispatching(Protocol):
    """Finds the handler of a call. A method, since `__call__` costs several times as much."""

    def outcome(self, exchange: Exchange, /) -> Outcome:
        """Run the handler of a call and return its outcome."""
        ...


Next: TypeAlias = Callable[[Exchange], Coroutine[Any, Any, Result]]
Middleware: TypeAlias = Callable[[Exchange, Next], Awaitable[Result]]
