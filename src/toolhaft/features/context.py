"""What a function may do for the length of its call: report, log, ask, look at who calls."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar, Unpack, overload

from msgspec import UNSET, Struct, to_builtins

from ..errors import Cancelled
from ..protocol.calls import READY, Exchange
from ..protocol.elicitation.questions import declares, valid_key
from ..protocol.handshake import Session
from ..types.client_requests import Root
from ..types.notifications import LEVELS, LogLevel, LogMessage
from .elicitation.manual_rounds import Rounds
from .elicitation.questions import (
    Answer,
    Elicit,
    ElicitUrl,
    Roots,
    Sample,
    Sampled,
    SampleOptions,
    Spoken,
)
from .elicitation.steps import awaited, plainly, reader_of
from .functions.markers import Asked, BaseContext, checked_questions
from .session_data import SessionData

T = TypeVar("T")
P = ParamSpec("P")


class Client(Struct, frozen=True):
    """Who calls, as far as it said."""

    name: str | None
    version: str | None
    revision: str
    capabilities: dict[str, Any]

    def can(self, path: str) -> bool:
        """Did the client declare this capability? `can("elicitation.url")`, or of an extension
        `can("extensions.io.modelcontextprotocol/ui")`."""
        return declares(self.capabilities, path)


class SyncContext:
    """The same for plain functions, which run on a thread and cannot await."""

    __slots__ = ("_context", "_exchange")

    def __init__(self, context: "Context", exchange: Exchange) -> None:
        self._context = context
        self._exchange = exchange

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far this call is."""
        self._exchange.report(done, total, message)
        self._exchange.throttle()

    def log(self, level: LogLevel, data: Any, logger: str | None = None) -> None:
        """Send the client a log message."""
        self._context.send_log(level, data, logger)

    @overload
    def elicit(self, message: str, type: type[T], key: str | None = None) -> Answer[T]: ...
    @overload
    def elicit(
        self, message: str, type: dict[str, Any], key: str | None = None
    ) -> Answer[dict[str, Any]]: ...
    @overload
    def elicit(self, message: str, type: Any, key: str | None = None) -> Answer[Any]: ...
    def elicit(self, message: str, type: Any, key: str | None = None) -> Answer[Any]:
        """Ask the user, by a form for a value of this type (see `Elicit`)."""
        return self._ask_one(Elicit(message, type), key)

    def elicit_url(self, message: str, url: str, key: str | None = None) -> Answer[None]:
        """Ask the user to visit a page."""
        return self._ask_one(ElicitUrl(message, url), key)

    def sample(
        self,
        prompt: str | Sequence[Spoken],
        *,
        key: str | None = None,
        **options: Unpack[SampleOptions],
    ) -> Sampled:
        """Ask a model of the client. Keywords are as in `Sample`."""
        return self._ask_one(Sample(prompt, **options), key)

    def roots(self, key: str | None = None) -> list[Root]:
        """Ask in which folders the client works."""
        return self._ask_one(Roots(), key)

    def ask(self, /, **questions: Asked[Any]) -> dict[str, Any]:
        """Ask several questions at once; the answers have their names."""
        return (
            self._exchange.ask_from_thread(checked_questions("ask", questions)) if questions else {}
        )

    def step(self, name: str, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something that is not done again when the call is run again (see `Context.step`)."""
        read = reader_of(valid_key("step", "name", name), function)
        act = partial(plainly, partial(function, *args, **kwargs))
        value: T = read(self._exchange.step_from_thread(name, act))
        return value

    def _ask_one(self, asked: Asked[T], key: str | None) -> T:
        name = _name(key)
        answer: T = self._exchange.ask_from_thread({name: asked.question})[name]
        return answer


class Context(BaseContext):
    """What a tool, resource or prompt can do during its call. Ask for it by annotation, anywhere in
    a signature: `ctx: Context`.

    A coroutine awaits its methods. A plain function, which runs on a thread, has the same in
    `ctx.sync`, without `await`.

    Attributes:
        server: the `Server` that is called.
        lifespan: what the server's lifespan has yielded.
    """

    __slots__ = ("_exchange", "_rounds", "lifespan", "server")

    def __init__(self, exchange: Exchange, server: Any = None, lifespan: Any = None) -> None:
        self._exchange = exchange
        self._rounds: Rounds | None = None
        self.server = server
        self.lifespan = lifespan

    @property
    def request_id(self) -> int | str:
        """The id that the client gave this request."""
        return self._exchange.id

    @property
    def principal(self) -> str | None:
        """Who is behind the client, if the transport knows."""
        return self._exchange.caller.principal

    @property
    def client(self) -> Client:
        """The client and what it can do."""
        caller = self._exchange.caller
        info = caller.client
        return Client(
            name=None if info is None else info.name,
            version=None if info is None else info.version,
            revision=caller.revision.date,
            # A copy down to the last member: other calls have the same caller.
            capabilities=to_builtins(caller.capabilities),
        )

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` object of the request, as the client sent it; read-only, and empty if there
        is none. It is decoded each time it is asked for."""
        return self._exchange.meta

    @property
    def cancelled(self) -> bool:
        """Does nobody wait for the answer any more, because the client cancelled the call or it
        took too long? Plain functions look here; coroutines are cancelled."""
        return self._exchange.cancelled or self._exchange.overdue

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the HTTP request, by their names in lower case; over stdio, none."""
        headers = self._exchange.headers
        return {} if headers is None else headers

    @property
    def session(self) -> SessionData | None:
        """What is kept for this client from one call to the next; None if the client has no
        session, which no client of 2026-07-28 has."""
        session = self._exchange.era
        if not isinstance(session, Session) or session.data is None:
            return None
        return SessionData(session, session.data)

    def check(self) -> None:
        """Raise if nobody waits for the answer any more: for loops in plain functions."""
        if self.cancelled:
            raise Cancelled

    @property
    def sync(self) -> SyncContext:
        """These methods without `await`."""
        return SyncContext(self, self._exchange)

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the client how far this call is. Nothing is sent unless it asked to know."""
        exchange = self._exchange
        exchange.report(done, total, message)
        waits = exchange.drain()
        if waits is not READY:
            await waits

    async def log(self, level: LogLevel, data: Any, logger: str | None = None) -> None:
        """Send the client a log message, if it wants messages of this level."""
        self.send_log(level, data, logger)
        await self._exchange.drain()

    @overload
    async def elicit(self, message: str, type: type[T], key: str | None = None) -> Answer[T]: ...
    @overload
    async def elicit(
        self, message: str, type: dict[str, Any], key: str | None = None
    ) -> Answer[dict[str, Any]]: ...
    @overload
    async def elicit(self, message: str, type: Any, key: str | None = None) -> Answer[Any]: ...
    async def elicit(self, message: str, type: Any, key: str | None = None) -> Answer[Any]:
        """Ask the user, by a form for a value of this type (see `Elicit`).

        The answer is `Accepted`, with a `value` of this type, `Declined` or `Cancelled`. For
        clients since 2026-07-28 the function is run again from its start when the answer is there:
        what must not be done twice goes into a `step`.

        Args:
            key: a name for the question, if which one it is depends on more than the order.
        """
        return await self._ask_one(Elicit(message, type), key)

    async def elicit_url(self, message: str, url: str, key: str | None = None) -> Answer[None]:
        """Ask the user to visit a page."""
        return await self._ask_one(ElicitUrl(message, url), key)

    async def sample(
        self,
        prompt: str | Sequence[Spoken],
        *,
        key: str | None = None,
        **options: Unpack[SampleOptions],
    ) -> Sampled:
        """Ask a model of the client. Keywords are as in `Sample`."""
        return await self._ask_one(Sample(prompt, **options), key)

    async def roots(self, key: str | None = None) -> list[Root]:
        """Ask in which folders the client works."""
        return await self._ask_one(Roots(), key)

    async def ask(self, /, **questions: Asked[Any]) -> dict[str, Any]:
        """Ask several questions at once; the answers have their names.

        As in `await ctx.ask(name=Elicit("Your name?", str), where=Roots())`."""
        return await self._exchange.ask(checked_questions("ask", questions)) if questions else {}

    @overload
    async def step(
        self,
        name: str,
        function: Callable[P, Coroutine[Any, Any, T]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T: ...
    @overload
    async def step(
        self, name: str, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T: ...
    async def step(
        self, name: str, function: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs
    ) -> Any:
        """Do something that is not done again when the call is run again, after a question.

        What the function returns is recorded and read again by its annotation. It is done at least
        once: a call that breaks off in the middle of it has nothing recorded. It cannot ask."""
        read = reader_of(valid_key("step", "name", name), function)
        act = awaited(self._exchange, partial(function, *args, **kwargs))
        return read(await self._exchange.step(name, act))

    @property
    def rounds(self) -> Rounds:
        """What a function has asked that returns `InputRequired`; for the library itself."""
        if self._rounds is None:
            self._rounds = Rounds(self._exchange)
        return self._rounds

    @property
    def answers(self) -> Mapping[str, Any]:
        """What was answered to an `InputRequired`, by the names of the questions."""
        return {} if self._rounds is None else self._rounds.answers

    @property
    def state(self) -> Any:
        """What the last `InputRequired` had as its state; None before there was one."""
        return None if self._rounds is None else self._rounds.state

    @property
    def round(self) -> int:
        """How often this call was run, with this time: more than once if it asks."""
        journal = self._exchange.journal
        return 1 if journal is None else journal.round

    @property
    def replaying(self) -> bool:
        """Was the code that runs now run before, in an earlier round?"""
        journal = self._exchange.journal
        return journal is not None and bool(journal.pending)

    async def _ask_one(self, asked: Asked[T], key: str | None) -> T:
        name = _name(key)
        answers = await self._exchange.ask({name: asked.question})
        answer: T = answers[name]
        return answer

    def hang_up(self) -> None:
        """End the connection on which the client awaits the answer of this call, which goes on: for
        calls that take long. A client of 2025-11-25 over HTTP comes back for the rest by itself;
        for all others nothing changes."""
        self._exchange.hang_up()

    def send_log(self, level: LogLevel, data: Any, logger: str | None) -> None:
        """What both forms of `log` do."""
        if level not in LEVELS:
            raise ValueError(f"log level must be one of {', '.join(LEVELS)}, not {level!r}")
        wanted = self._exchange.caller.log_level
        if wanted is None or LEVELS.index(level) < wanted:
            return
        self._exchange.notify(
            "notifications/message",
            LogMessage(level=level, data=data, logger=UNSET if logger is None else logger),
        )


def _name(key: str | None) -> str:
    """A question without a key has an empty name, and gets a number."""
    return "" if key is None else valid_key("a question", "key", key)
