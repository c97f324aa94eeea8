"""Call an author's function: with whatever it asks for, wherever it has to run.

Most functions ask for arguments and perhaps a context, and are called straight away. Those with
dependencies, a time limit, a limit of calls at once, or a generator take the longer way.
"""

import contextvars
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from contextvars import copy_context
from functools import partial
from typing import Any, NoReturn, cast

from ...errors import InvalidParams, ToolError, clipped, shown
from ...protocol.calls import Blocking, Cleanup, Exchange, Outcome, Result
from ...protocol.elicitation.questions import Question, can_express, lacking
from ...protocol.http.headers import listed
from ...protocol.ports import Gate, Place
from ...schema.codecs import convert
from .injection import Supply, plan_of
from .markers import Current, MakeContext
from .parameters import Headed
from .signature import Signature, made

Finish = Callable[[Any], Result]
Failed = Callable[[BaseException], Result]
Work = Callable[[], Coroutine[Any, Any, Result]]


def unchanged(error: BaseException) -> NoReturn:
    """What most features do with a failure: leave it to the connection."""
    try:
        raise error
    finally:
        del error  # the error holds this frame: both would stay, with all that the call was given


class Callee:
    """A function that is ready to be called."""

    __slots__ = ("context", "gate", "inline", "is_simple", "place", "plan", "signature", "timeout")

    def __init__(
        self,
        signature: Signature,
        context: MakeContext,
        *,
        inline: bool = False,
        timeout: float | None = None,
        gate: Gate | None = None,
        place: Place | None = None,
    ) -> None:
        if place is not None and not place.takes_coroutines and "async" in signature.manner:
            raise TypeError(
                f"{signature.what} is async, and run_on takes plain functions only; give it an "
                "event loop, or make it a plain def"
            )
        self.signature = signature
        # One that asks has to wait.
        asks = bool(signature.inquired) or signature.has_rounds
        self.inline = inline and not asks
        self.timeout = timeout
        self.gate = gate
        # Where it has to run, through whichever transport it is called.
        self.place = place
        self.plan = plan_of(signature)
        self.context = context
        # Can it be called as it is, once it has its arguments?
        self.is_simple = (
            not self.plan.supplies
            and not asks
            and timeout is None
            and gate is None
            and place is None
            and signature.manner in ("plain", "async")
        )

    def fill(self, exchange: Exchange, arguments: dict[str, Any]) -> Current:
        """Add what the call itself provides: its context, and headers.

        Raises:
            InvalidParams: a header that is needed was not sent.
        """
        signature, make = self.signature, self.context
        context = make(exchange)
        # One context for all who ask for it: progress must not go backwards.
        for name in signature.contexts:
            arguments[name] = context
        for headed in signature.headers:
            arguments[headed.parameter.name] = _header(headed, exchange)
        return context

    def outcome(
        self,
        exchange: Exchange,
        arguments: dict[str, Any],
        finish: Finish,
        failed: Failed = unchanged,
    ) -> Outcome:
        """The outcome of the call. Every way guards the author's code and the encoding of its
        value: whatever is raised, SystemExit and its like included, reaches `failed` and nobody
        else."""
        if not self.is_simple or exchange.place is not None:
            return self.elaborate(exchange, arguments, finish, failed)
        self.fill(exchange, arguments)
        work = partial(self.signature.function, **arguments)
        is_async = self.signature.manner == "async"
        return called(work, finish, failed, is_async=is_async, inline=self.inline)

    def elaborate(
        self, exchange: Exchange, arguments: dict[str, Any], finish: Finish, failed: Failed
    ) -> Outcome:
        """The longer way. It stays on one thread if it can."""
        context = self.fill(exchange, arguments)
        run = _Run(self, exchange, context, arguments)
        if self.place is not None:
            exchange.place = self.place
        if exchange.place is not None:
            return run.on_the_loop(finish, failed)
        waits = self.timeout is not None or self.gate is not None or self.plan.is_async
        if waits or "async" in self.signature.manner:
            return run.on_the_loop(finish, failed)
        # That a tool only computes says nothing of what it depends on.
        return Blocking(
            partial(run.on_a_thread, finish, failed), self.inline and not self.plan.supplies
        )

    async def bounded(self, exchange: Exchange, work: Work) -> Result:
        """The result of some work, within the bounds that the author has set for a call."""
        if self.gate is not None:
            work = partial(_gated, self.gate, work)
        if self.timeout is None:
            return await work()
        return await exchange.within(self.timeout, work(), self.signature.what)

    async def unbounded(
        self, exchange: Exchange, arguments: dict[str, Any], finish: Finish
    ) -> Result:
        """The result of the call, for somebody who minds the bounds and what is raised."""
        context = self.fill(exchange, arguments)
        if self.place is not None:
            exchange.place = self.place
        return await _Run(self, exchange, context, arguments).resolved(finish)


def called(
    work: Callable[[], Any],
    finish: Finish,
    failed: Failed = unchanged,
    *,
    is_async: bool,
    inline: bool = False,
) -> Outcome:
    """The outcome of a function that needs nothing more."""
    if is_async:
        return _awaited(work, finish, failed)
    return Blocking(partial(_guarded, work, finish, failed), inline)


def _guarded(work: Callable[[], Any], finish: Finish, failed: Failed) -> Result:
    try:
        return finish(work())
    except BaseException as error:
        return failed(error)


async def _awaited(work: Callable[[], Any], finish: Finish, failed: Failed) -> Result:
    try:
        return finish(await work())
    except BaseException as error:
        return failed(error)


class _Run:
    """One call that takes the longer way."""

    def __init__(
        self, callee: Callee, exchange: Exchange, context: Current, arguments: dict[str, Any]
    ) -> None:
        self._callee = callee
        self._exchange = exchange
        self._context = context
        self._arguments = arguments
        self._made: list[Any] = []
        self._count = 0
        self._is_placed = False
        # What the parts of the call set in context variables, each of the others sees.
        self._variables = copy_context()

    def on_a_thread(self, finish: Finish, failed: Failed) -> Result:
        """All of it is plain: dependencies, the function, clean-up."""
        try:
            return self._plainly(finish)
        except BaseException as error:
            return failed(error)

    def _plainly(self, finish: Finish) -> Result:
        error: BaseException | None = None
        result: Result = b""
        cleanup: Cleanup | None = None
        try:
            with ExitStack() as stack:
                try:
                    if self._callee.signature.inquired:
                        asked = self._inquiries()
                        self._take_answers(self._exchange.ask_from_thread(asked) if asked else {})
                    for supply in self._callee.plan.supplies:
                        if supply.manner == "generator":
                            self._made.append(stack.enter_context(self._manager(supply)))
                        else:
                            self._made.append(supply.function(**self._inputs(supply)))
                    result = finish(self._call())
                except BaseException as raised:
                    error = raised
                    raise
                finally:
                    cleanup = self._clean_up(result, error)
            # A dependency has caught it, and the call has failed all the same.
            if error is not None:
                raise error
            return result
        finally:
            error = None  # it holds this frame, and the frame must not hold it
            if cleanup is not None:
                cleanup.end()

    async def on_the_loop(self, finish: Finish, failed: Failed) -> Result:
        """Some of it waits; what is plain is sent to a thread."""
        try:
            return await self._callee.bounded(self._exchange, partial(self.resolved, finish))
        except BaseException as error:
            return failed(error)

    async def resolved(self, finish: Finish) -> Result:
        """The result, without the bounds and without what becomes of errors."""
        place, plan = self._exchange.place, self._callee.plan
        is_plain = "async" not in self._callee.signature.manner and not plan.is_async
        if place is not None and place.takes_coroutines and not is_plain and not self._is_placed:
            # All of it runs there, its dependencies too.
            self._is_placed = True
            return cast(Result, await place.run(partial(self.resolved, finish)))
        if is_plain:
            inline = self._callee.inline and not plan.supplies
            return cast(Result, await self._on_thread(partial(self._plainly, finish), inline))
        return await self._asynchronously(finish)

    async def _asynchronously(self, finish: Finish) -> Result:
        error: BaseException | None = None
        result: Result = b""
        cleanup: Cleanup | None = None
        try:
            try:
                async with AsyncExitStack() as stack:
                    try:
                        result = await self._entered(stack, finish)
                    except BaseException as raised:
                        error = raised
                        raise
                    finally:
                        cleanup = self._clean_up(result, error)
            except BaseException:
                # That the cleanup took too long does not change how the function has ended.
                if cleanup is None or not cleanup.expired:
                    raise
            if error is not None:
                raise error
            return result
        finally:
            error = None  # as above
            if cleanup is not None:
                cleanup.end()

    async def _entered(self, stack: AsyncExitStack, finish: Finish) -> Result:
        """The result of the function, with its dependencies."""
        if self._callee.signature.inquired:
            asked = self._inquiries()
            self._take_answers(await self._exchange.ask(asked) if asked else {})
        for supply in self._callee.plan.supplies:
            self._made.append(await self._take(supply, stack))
        return await self._body(finish)

    def _clean_up(self, result: Result, error: BaseException | None) -> Cleanup | None:
        """The function has ended; what its dependencies have opened is closed."""
        return self._exchange.clean_up(result, error) if self._callee.plan.cleans_up else None

    async def _body(self, finish: Finish) -> Result:
        manner, function = self._callee.signature.manner, self._callee.signature.function
        if manner == "async" and self._callee.signature.has_rounds:
            return finish(await self._context.rounds.settled(self._once))
        if manner == "async":
            return finish(await function(**self._filled()))
        if manner == "async generator":
            return finish(await self._last_of(function(**self._filled())))
        work = partial(_finished, finish, self._call)
        return cast(Result, await self._on_thread(work, self._callee.inline))

    async def _take(self, supply: Supply, stack: AsyncExitStack) -> Any:
        inputs = self._inputs(supply)
        if supply.manner == "async":
            return await supply.function(**inputs)
        if supply.manner == "async generator":
            return await stack.enter_async_context(asynccontextmanager(supply.function)(**inputs))
        if supply.manner == "plain":
            return await self._on_thread(partial(supply.function, **inputs))
        return await self._enter(self._manager(supply), stack)

    async def _enter(self, manager: AbstractContextManager[Any], stack: AsyncExitStack) -> Any:
        """Who is cancelled while the thread enters must leave all the same."""
        entered: list[Any] = []

        def enter() -> None:
            entered.append(manager.__enter__())

        async def leave(*error: Any) -> Any:
            if entered:
                return await self._on_thread(partial(manager.__exit__, *error), always=True)
            return None

        stack.push_async_exit(leave)
        await self._on_thread(enter)
        return entered[0]

    async def _on_thread(
        self, work: Callable[[], Any], inline: bool = False, *, always: bool = False
    ) -> Any:
        self._variables.run(_adopt, copy_context())
        work = partial(self._variables.run, work)
        try:
            return await self._exchange.settle(Blocking(work, inline, always))
        finally:
            _adopt(self._variables)

    def _manager(self, supply: Supply) -> AbstractContextManager[Any]:
        return contextmanager(supply.function)(**self._inputs(supply))

    def _inputs(self, supply: Supply) -> dict[str, Any]:
        return {
            **dict.fromkeys(supply.contexts, self._context),
            **{each.parameter.name: _header(each, self._exchange) for each in supply.headers},
            **{name: self._arguments[argument] for name, argument in supply.arguments.items()},
            **{name: self._made[index] for name, index in supply.supplies.items()},
            **{parameter.name: made(parameter) for parameter in supply.defaults},
        }

    def _filled(self) -> dict[str, Any]:
        given = self._callee.plan.given
        return {**self._arguments, **{name: self._made[index] for name, index in given.items()}}

    def _call(self) -> Any:
        if self._callee.signature.has_rounds:
            return self._context.rounds.settled_on_thread(self._once)
        return self._once()

    def _once(self) -> Any:
        value = self._callee.signature.function(**self._filled())
        return self._last_in(value) if self._callee.signature.manner == "generator" else value

    # Parameters that the user fills

    def _inquiries(self) -> dict[str, Question]:
        """What the client can be asked. For the rest there is a default, or the call fails."""
        return {
            each.parameter.name: each.question.question
            for each in self._callee.signature.inquired
            if each.parameter.required or self._can_ask(each.question.question)
        }

    def _can_ask(self, question: Question) -> bool:
        caller = self._exchange.caller
        missing = lacking(caller.capabilities, caller.revision, [question])
        return not missing and can_express(caller.revision, question)

    def _take_answers(self, answers: Mapping[str, Any]) -> None:
        from ..elicitation.questions import Accepted  # noqa: PLC0415

        for each in self._callee.signature.inquired:
            parameter, answer = each.parameter, answers.get(each.parameter.name)
            if isinstance(answer, Accepted):
                self._arguments[parameter.name] = answer.value  # pyright: ignore[reportUnknownMemberType]
            elif parameter.required:
                raise ToolError(f"this needs an answer for {parameter.name!r}, and got none")
            else:
                self._arguments[parameter.name] = made(parameter)

    # A generator: each value it yields is progress, and the last one is the result.

    def _last_in(self, values: Generator[Any, None, Any]) -> Any:
        last = None
        try:
            while True:
                last = next(values)
                self._context.check()
                self._report(last)
                self._exchange.throttle()
        except StopIteration as stop:
            is_returned = self._callee.signature.is_returned or stop.value is not None
            return stop.value if is_returned else last
        finally:
            values.close()

    async def _last_of(self, values: AsyncGenerator[Any]) -> Any:
        last = None
        try:
            async for last in values:
                self._report(last)
                await self._exchange.drain()
        finally:
            await values.aclose()
        return last

    def _report(self, value: Any) -> None:
        self._count += 1
        message = clipped(value) if isinstance(value, str) else None
        self._exchange.report(self._count, None, message)


async def _gated(gate: Gate, work: Work) -> Result:
    async with gate:
        return await work()


def _finished(finish: Finish, work: Callable[[], Any]) -> Result:
    return finish(work())


def _adopt(context: contextvars.Context) -> None:
    """Set what is set in another context."""
    for variable, value in context.items():
        if variable.get(context) is not value:  # the context itself is nobody's value
            variable.set(value)


def _header(headed: Headed, exchange: Exchange) -> Any:
    headers: Mapping[str, str] = exchange.headers if exchange.headers is not None else {}
    value = headers.get(headed.header.name.lower())
    if value is not None:
        try:
            sent = listed(value) if headed.many else value
            return convert(sent, headed.native, strict=False)
        except ValueError:
            raise InvalidParams(
                f"the header {headed.header.name} does not fit: {shown(value)}"
            ) from None
    if headed.parameter.required:
        raise InvalidParams(f"this needs the HTTP header {headed.header.name}, which was not sent")
    return made(headed.parameter)
