"""Methods of a provider that are called per request: lists, and custom handlers."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct

from ...protocol.calls import Blocking, Exchange, Outcome, Result
from ..functions.call_style import call_style_of
from ..functions.invocation import Callee, Failed, Finish
from ..functions.markers import BaseContext, MakeContext, is_context

# Passes a call to the included server that has the item.
Route: TypeAlias = Callable[[Exchange], Outcome]
# Makes a registered item again, with another function if one is given, and with other options.
Recipe: TypeAlias = Callable[[Callable[..., Any] | None, Mapping[str, Any]], Any]


class Hook:
    """A method that is called with positional arguments, and a last `Context` if it takes one."""

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
        call_style = call_style_of(function)
        if call_style not in ("plain", "async"):
            raise TypeError(f"{what} is a generator; let it return a value")
        self.what = what
        self._function = function
        self._is_async = call_style == "async"
        self._inline = inline
        self.context = context
        # Whether it takes a context, so that its result may depend on the caller.
        signature = inspect.signature(function)
        self.contextual = _takes_context(signature, parameters)
        if not self.contextual and not _takes(signature, parameters):
            without, whole = ", ".join(parameters), ", ".join((*parameters, "ctx"))
            raise TypeError(f"{what} must take ({whole}) or ({without}), not {signature}")

    async def __call__(self, exchange: Exchange, *given: Any) -> Any:
        """Call the method on its thread or loop; return its value."""
        if self.contextual:
            given = (*given, self.context(exchange))
        return await self._called(exchange, given)

    async def within(self, context: BaseContext, exchange: Exchange, given: tuple[Any, ...]) -> Any:
        """Call the method with a context that is shared by several calls."""
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
    """Whether there is a parameter for a context. With a default, its name or type must say so."""
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


class DecoratedMethod(Struct, frozen=True):
    """The decorated method, or the placeholder for it, and the arguments of the call."""

    callee: Callee
    arguments: dict[str, Any]
    # Renders the method's value by its return annotation, which a handler's value does not have.
    finish: Finish


class CustomHandler:
    """A provider's handler, such as `call_tool`, which is called before the decorated method.

    Args:
        has_method: whether there is a decorated method to fall back on.
        name: first argument of the handler, if it is fixed.
    """

    __slots__ = ("_has_method", "_hook", "_name")

    def __init__(self, hook: Hook, name: str | None = None, *, has_method: bool) -> None:
        self._hook = hook
        self._name = name
        self._has_method = has_method

    async def outcome(
        self,
        exchange: Exchange,
        given: tuple[Any, ...],
        own: DecoratedMethod,
        finish: Finish,
        failed: Failed,
    ) -> Result:
        """Call the handler, and the method if the handler returns `NotImplemented`. The limits of
        the method apply to both together."""
        if self._name is not None:
            given = (self._name, *given)
        work = partial(self._answer, exchange, given, own, finish)
        try:
            return await own.callee.within_limits(exchange, work)
        except BaseException as error:
            return failed(error)

    async def _answer(
        self, exchange: Exchange, given: tuple[Any, ...], own: DecoratedMethod, finish: Finish
    ) -> Result:
        value = await self._value(exchange, given)
        if value is not NotImplemented:
            return finish(value)
        if not self._has_method:
            raise TypeError(
                f"{self._hook.what} returned NotImplemented for {given[0]!r}, and there is no "
                "marked method of that name"
            )
        return await own.callee.without_limits(exchange, own.arguments, own.finish)

    async def _value(self, exchange: Exchange, given: tuple[Any, ...]) -> Any:
        if self._has_method:  # rounds are handled by the method
            return await self._hook(exchange, *given)
        context = self._hook.context(exchange)
        return await context.rounds.settled(partial(self._hook.within, context, exchange, given))
