"""Methods of a provider that decide for themselves: lists, and handlers that are asked first."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct

from ...protocol.calls import Blocking, Exchange, Outcome, Result
from ..functions.call_style import manner_of
from ..functions.invocation import Callee, Failed, Finish
from ..functions.markers import Current, MakeContext, is_context

# The way of a call through another server.
Route: TypeAlias = Callable[[Exchange], Outcome]
# Makes a registered thing anew: of another function, if one is given, and with these options.
Recipe: TypeAlias = Callable[[Callable[..., Any] | None, Mapping[str, Any]], Any]


class Hook:
    """A method that is called by position, with a `Context` behind the rest if it takes one."""

    __slots__ = ("_function", "_inline", "_is_async", "context", "contextual", "what")

    def __init__(
        self,
        function: Callable[..., Any],
        what: str,
        parameters: tuple[str, ...],
        *,
        context: MakeContext,
        inline: bool,
    ) -> None:
        manner = manner_of(function)
        if manner not in ("plain", "async"):
            raise TypeError(f"{what} is a generator; let it return a value")
        self.what = what
        self._function = function
        self._is_async = manner == "async"
        self._inline = inline
        self.context = context
        # Does it look at who calls?
        signature = inspect.signature(function)
        self.contextual = _takes_context(signature, parameters)
        if not self.contextual and not _takes(signature, parameters):
            without, whole = ", ".join(parameters), ", ".join((*parameters, "ctx"))
            raise TypeError(f"{what} must take ({whole}) or ({without}), not {signature}")

    async def __call__(self, exchange: Exchange, *given: Any) -> Any:
        """The value that it returns, wherever it runs."""
        if self.contextual:
            given = (*given, self.context(exchange))
        return await self._called(exchange, given)

    async def within(self, context: Current, exchange: Exchange, given: tuple[Any, ...]) -> Any:
        """The same, in a context that outlives this."""
        return await self._called(exchange, (*given, context) if self.contextual else given)

    async def _called(self, exchange: Exchange, given: tuple[Any, ...]) -> Any:
        work = partial(self._function, *given)
        if self._is_async:
            place = exchange.place
            return await (work() if place is None else place.run(work))
        value: Any = await exchange.settle(Blocking(work, self._inline))
        return await value if inspect.isawaitable(value) else value


def _takes(signature: inspect.Signature, parameters: tuple[str, ...]) -> bool:
    try:
        signature.bind(*parameters)
    except TypeError:
        return False
    return True


def _takes_context(signature: inspect.Signature, parameters: tuple[str, ...]) -> bool:
    """Is there a parameter for a context? One with a default may be for something else."""
    if not _takes(signature, (*parameters, "ctx")):
        return False
    name = list(signature.bind(*parameters, "ctx").arguments)[-1]
    parameter = signature.parameters[name]
    return (
        parameter.default is parameter.empty
        or name in ("ctx", "context")
        or is_context(parameter.annotation)
        or parameter.annotation == "Context"
    )


class Own(Struct, frozen=True):
    """The method that is marked, or what stands in its place, and what it is called with."""

    callee: Callee
    arguments: dict[str, Any]
    # What becomes of its value, of which its annotation may say more than of the handler's.
    finish: Finish


class Custom:
    """A handler that is asked before the method that is marked, if there is one.

    Args:
        is_whole: there is a method behind it.
        name: what the handler calls what it is asked for, if that is always the same.
    """

    __slots__ = ("_hook", "_is_whole", "_name")

    def __init__(self, hook: Hook, name: str | None = None, *, is_whole: bool) -> None:
        self._hook = hook
        self._name = name
        self._is_whole = is_whole

    async def outcome(
        self,
        exchange: Exchange,
        given: tuple[Any, ...],
        own: Own,
        finish: Finish,
        failed: Failed,
    ) -> Result:
        """What the handler returns. `NotImplemented` leaves it to the method; an exception does
        not. The bounds of the method are those of both."""
        if self._name is not None:
            given = (self._name, *given)
        work = partial(self._answer, exchange, given, own, finish)
        try:
            return await own.callee.bounded(exchange, work)
        except BaseException as error:
            return failed(error)

    async def _answer(
        self, exchange: Exchange, given: tuple[Any, ...], own: Own, finish: Finish
    ) -> Result:
        value = await self._value(exchange, given)
        if value is not NotImplemented:
            return finish(value)
        if not self._is_whole:
            raise TypeError(
                f"{self._hook.what} returned NotImplemented for {given[0]!r}, and there is no "
                "marked method of that name"
            )
        return await own.callee.unbounded(exchange, own.arguments, own.finish)

    async def _value(self, exchange: Exchange, given: tuple[Any, ...]) -> Any:
        if self._is_whole:  # then rounds are the method's
            return await self._hook(exchange, *given)
        context = self._hook.context(exchange)
        return await context.rounds.settled(partial(self._hook.within, context, exchange, given))
