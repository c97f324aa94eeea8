"""Invocation of an author's function: injection, limits, and the thread or loop that runs it.

A function that takes only arguments and perhaps a context is called directly. Dependencies,
questions, a timeout, a concurrency limit, `run_on=` and generators need an `_Invocation`.
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
from .injection import PlannedDependency, plan_of
from .markers import BaseContext, MakeContext
from .parameters import HeaderParameter
from .signature import Signature, default_value

Finish = Callable[[Any], Result]
Failed = Callable[[BaseException], Result]
Work = Callable[[], Coroutine[Any, Any, Result]]


def unchanged(error: BaseException) -> NoReturn:
    """Raise an error again: the default `failed`, which leaves errors to the connection."""
    try:
        raise error
    finally:
        del error  # break the cycle error -> traceback -> frame -> error, which holds the arguments


class Callee:
    """A registered function with its limits and its plan of dependencies."""

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
        if place is not None and not place.takes_coroutines and "async" in signature.call_style:
            raise TypeError(
                f"{signature.what} is async, and run_on takes plain functions only; give it an "
                "event loop, or make it a plain def"
            )
        self.signature = signature
        # A function that asks the client has to wait, so it cannot run inline.
        asks = bool(signature.asked_parameters) or signature.has_rounds
        self.inline = inline and not asks
        self.timeout = timeout
        self.gate = gate
        # The `run_on=` of the registration, for every transport.
        self.place = place
        self.plan = plan_of(signature)
        self.context = context
        # Whether it can be called directly, without an `_Invocation`.
        self.is_simple = (
            not self.plan.dependencies
            and not asks
            and timeout is None
            and gate is None
            and place is None
            and signature.call_style in ("plain", "async")
        )

    def inject(self, exchange: Exchange, arguments: dict[str, Any]) -> BaseContext:
        """Add the parameters that the call provides: its context, and headers.

        Raises:
            InvalidParams: a required header was not sent, or has a wrong type.
        """
        signature, make = self.signature, self.context
        context = make(exchange)
        # One context for the function and its dependencies: it keeps progress increasing.
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
        """Return the outcome of the call.

        An exception of the author's code or of the encoding of its value, also a `SystemExit`, is
        passed to `failed` and does not propagate."""
        if not self.is_simple or exchange.place is not None:
            return self.outcome_of_invocation(exchange, arguments, finish, failed)
        self.inject(exchange, arguments)
        work = partial(self.signature.function, **arguments)
        is_async = self.signature.call_style == "async"
        return outcome_of(work, finish, failed, is_async=is_async, inline=self.inline)

    def outcome_of_invocation(
        self, exchange: Exchange, arguments: dict[str, Any], finish: Finish, failed: Failed
    ) -> Outcome:
        """Return the outcome of a call that is not simple: on one thread if nothing awaits."""
        context = self.inject(exchange, arguments)
        run = _Invocation(self, exchange, context, arguments)
        if self.place is not None:
            exchange.place = self.place
        if exchange.place is not None:
            return run.on_the_loop(finish, failed)
        waits = self.timeout is not None or self.gate is not None or self.plan.is_async
        if waits or "async" in self.signature.call_style:
            return run.on_the_loop(finish, failed)
        # `inline` is a promise about the function, not about its dependencies.
        return Blocking(
            partial(run.on_a_thread, finish, failed), self.inline and not self.plan.dependencies
        )

    async def within_limits(self, exchange: Exchange, work: Work) -> Result:
        """Await `work` within the timeout and the concurrency limit of the function."""
        if self.gate is not None:
            work = partial(_gated, self.gate, work)
        if self.timeout is None:
            return await work()
        return await exchange.within(self.timeout, work(), self.signature.what)

    async def without_limits(
        self, exchange: Exchange, arguments: dict[str, Any], finish: Finish
    ) -> Result:
        """Return the result of the call, for a caller that applies the limits and `failed`."""
        context = self.inject(exchange, arguments)
        if self.place is not None:
            exchange.place = self.place
        return await _Invocation(self, exchange, context, arguments).run(finish)


def outcome_of(
    work: Callable[[], Any],
    finish: Finish,
    failed: Failed = unchanged,
    *,
    is_async: bool,
    inline: bool = False,
) -> Outcome:
    """Return the outcome of a function that has all its arguments."""
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


class _Invocation:
    """One call with dependencies, questions, limits, or a generator."""

    def __init__(
        self, callee: Callee, exchange: Exchange, context: BaseContext, arguments: dict[str, Any]
    ) -> None:
        self._callee = callee
        self._exchange = exchange
        self._context = context
        self._arguments = arguments
        self._resolved: list[Any] = []
        self._count = 0
        self._is_on_its_loop = False
        # Context variables, carried between the threads and the loop that run parts of the call.
        self._variables = copy_context()

    def on_a_thread(self, finish: Finish, failed: Failed) -> Result:
        """Run dependencies, function and clean-up on one worker thread: all are plain."""
        try:
            return self._run_plain(finish)
        except BaseException as error:
            return failed(error)

    def _run_plain(self, finish: Finish) -> Result:
        error: BaseException | None = None
        result: Result = b""
        cleanup: Cleanup | None = None
        try:
            with ExitStack() as stack:
                try:
                    if self._callee.signature.asked_parameters:
                        asked = self._questions()
                        self._apply_answers(self._exchange.ask_from_thread(asked) if asked else {})
                    for dependency in self._callee.plan.dependencies:
                        if dependency.call_style == "generator":
                            self._resolved.append(stack.enter_context(self._manager(dependency)))
                        else:
                            self._resolved.append(
                                dependency.function(**self._keywords_of(dependency))
                            )
                    result = finish(self._call())
                except BaseException as raised:
                    error = raised
                    raise
                finally:
                    cleanup = self._clean_up(result, error)
            # A dependency may swallow the error in its clean-up; the call fails all the same.
            if error is not None:
                raise error
            return result
        finally:
            error = None  # break the cycle error -> traceback -> frame -> error
            if cleanup is not None:
                cleanup.end()

    async def on_the_loop(self, finish: Finish, failed: Failed) -> Result:
        """Run the call on the event loop, and its plain functions on worker threads."""
        try:
            return await self._callee.within_limits(self._exchange, partial(self.run, finish))
        except BaseException as error:
            return failed(error)

    async def run(self, finish: Finish) -> Result:
        """Return the result; limits and `failed` are applied by the caller."""
        place, plan = self._exchange.place, self._callee.plan
        is_plain = "async" not in self._callee.signature.call_style and not plan.is_async
        if (
            place is not None
            and place.takes_coroutines
            and not is_plain
            and not self._is_on_its_loop
        ):
            # The function and its dependencies run on the loop of `run_on=`.
            self._is_on_its_loop = True
            return cast(Result, await place.run(partial(self.run, finish)))
        if is_plain:
            inline = self._callee.inline and not plan.dependencies
            return cast(Result, await self._on_thread(partial(self._run_plain, finish), inline))
        return await self._run_async(finish)

    async def _run_async(self, finish: Finish) -> Result:
        error: BaseException | None = None
        result: Result = b""
        cleanup: Cleanup | None = None
        try:
            try:
                async with AsyncExitStack() as stack:
                    try:
                        result = await self._run_with_dependencies(stack, finish)
                    except BaseException as raised:
                        error = raised
                        raise
                    finally:
                        cleanup = self._clean_up(result, error)
            except BaseException:
                # A clean-up that timed out does not change the outcome of the function.
                if cleanup is None or not cleanup.expired:
                    raise
            if error is not None:
                raise error
            return result
        finally:
            error = None  # break the cycle, as in `_run_plain`
            if cleanup is not None:
                cleanup.end()

    async def _run_with_dependencies(self, stack: AsyncExitStack, finish: Finish) -> Result:
        """Ask the questions, resolve the dependencies, and call the function."""
        if self._callee.signature.asked_parameters:
            asked = self._questions()
            self._apply_answers(await self._exchange.ask(asked) if asked else {})
        for dependency in self._callee.plan.dependencies:
            self._resolved.append(await self._resolve(dependency, stack))
        return await self._call_async(finish)

    def _clean_up(self, result: Result, error: BaseException | None) -> Cleanup | None:
        """Report the end of the function, before its dependencies clean up."""
        return self._exchange.clean_up(result, error) if self._callee.plan.cleans_up else None

    async def _call_async(self, finish: Finish) -> Result:
        call_style, function = self._callee.signature.call_style, self._callee.signature.function
        if call_style == "async" and self._callee.signature.has_rounds:
            return finish(await self._context.rounds.settled(self._call_once))
        if call_style == "async":
            return finish(await function(**self._keywords()))
        if call_style == "async generator":
            return finish(await self._last_value_async(function(**self._keywords())))
        work = partial(_call_and_finish, finish, self._call)
        return cast(Result, await self._on_thread(work, self._callee.inline))

    async def _resolve(self, dependency: PlannedDependency, stack: AsyncExitStack) -> Any:
        inputs = self._keywords_of(dependency)
        if dependency.call_style == "async":
            return await dependency.function(**inputs)
        if dependency.call_style == "async generator":
            return await stack.enter_async_context(
                asynccontextmanager(dependency.function)(**inputs)
            )
        if dependency.call_style == "plain":
            return await self._on_thread(partial(dependency.function, **inputs))
        return await self._enter_on_thread(self._manager(dependency), stack)

    async def _enter_on_thread(
        self, manager: AbstractContextManager[Any], stack: AsyncExitStack
    ) -> Any:
        """Enter a context manager on a worker thread. If the call is cancelled meanwhile, the
        manager is exited all the same, once it was entered."""
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
        self._variables.run(_copy_variables, copy_context())
        work = partial(self._variables.run, work)
        try:
            return await self._exchange.settle(Blocking(work, inline, always))
        finally:
            _copy_variables(self._variables)

    def _manager(self, dependency: PlannedDependency) -> AbstractContextManager[Any]:
        return contextmanager(dependency.function)(**self._keywords_of(dependency))

    def _keywords_of(self, dependency: PlannedDependency) -> dict[str, Any]:
        return {
            **dict.fromkeys(dependency.contexts, self._context),
            **{each.parameter.name: _header(each, self._exchange) for each in dependency.headers},
            **{name: self._arguments[argument] for name, argument in dependency.arguments.items()},
            **{name: self._resolved[index] for name, index in dependency.dependencies.items()},
            **{parameter.name: default_value(parameter) for parameter in dependency.defaults},
        }

    def _keywords(self) -> dict[str, Any]:
        given = self._callee.plan.given
        return {**self._arguments, **{name: self._resolved[index] for name, index in given.items()}}

    def _call(self) -> Any:
        if self._callee.signature.has_rounds:
            return self._context.rounds.settled_on_thread(self._call_once)
        return self._call_once()

    def _call_once(self) -> Any:
        value = self._callee.signature.function(**self._keywords())
        return (
            self._last_value(value) if self._callee.signature.call_style == "generator" else value
        )

    # Parameters with `Ask`

    def _questions(self) -> dict[str, Question]:
        """Return the questions to send. A parameter with a default is skipped if the client does
        not support its question; without a default the call fails."""
        return {
            each.parameter.name: each.question.question
            for each in self._callee.signature.asked_parameters
            if each.parameter.required or self._can_ask(each.question.question)
        }

    def _can_ask(self, question: Question) -> bool:
        caller = self._exchange.caller
        missing = lacking(caller.capabilities, caller.revision, [question])
        return not missing and can_express(caller.revision, question)

    def _apply_answers(self, answers: Mapping[str, Any]) -> None:
        from ..elicitation.questions import Accepted  # noqa: PLC0415

        for each in self._callee.signature.asked_parameters:
            parameter, answer = each.parameter, answers.get(each.parameter.name)
            if isinstance(answer, Accepted):
                self._arguments[parameter.name] = answer.value  # pyright: ignore[reportUnknownMemberType]
            elif parameter.required:
                raise ToolError(f"this needs an answer for {parameter.name!r}, and got none")
            else:
                self._arguments[parameter.name] = default_value(parameter)

    # Generators: each yielded value is reported as progress, and the last one is the result.

    def _last_value(self, values: Generator[Any, None, Any]) -> Any:
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

    async def _last_value_async(self, values: AsyncGenerator[Any]) -> Any:
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


def _call_and_finish(finish: Finish, work: Callable[[], Any]) -> Result:
    return finish(work())


def _copy_variables(context: contextvars.Context) -> None:
    """Copy the context variables of another context into the current one."""
    for variable, value in context.items():
        if variable.get(context) is not value:  # `context` as a default: no variable has it
            variable.set(value)


def _header(headed: HeaderParameter, exchange: Exchange) -> Any:
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
    return default_value(headed.parameter)
