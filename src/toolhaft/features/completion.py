"""`completion/complete`: which completer an argument has, and what of it is sent."""

from collections.abc import Iterable
from functools import partial
from typing import Any, cast

from msgspec import UNSET

from ..errors import InvalidParams, shown
from ..protocol.calls import Exchange, Outcome, Result
from ..types.prompts import CompleteParams, CompleteResult, PromptReference
from ..types.prompts import Completion as WireCompletion
from .functions.completers import Completion
from .functions.invocation import outcome_of
from .prompts import Prompt, Prompts
from .providers.registry import Registry, require
from .resources import Resource, Resources, key_of

# "Maximum 100 items per response."
_MOST = 100


class Completions:
    """Suggestions for the arguments of prompts and the variables of templates."""

    def __init__(self, prompts: Prompts, resources: Resources) -> None:
        self._prompts = prompts.registry
        self._templates = resources.templates
        # Set once a client was told of completions, and never cleared.
        self._was_offered = False

    def __bool__(self) -> bool:
        """Is completion offered? It is while an argument completes, where what a source lists may
        have some; and from then on, so that no client is told of a method that goes away."""
        if not self._was_offered:
            registries: tuple[Registry[Any], ...] = (self._prompts, self._templates)
            self._was_offered = any(
                registry.is_evaluated or any(any(item.completers.values()) for item in registry)
                for registry in registries
            )
        return self._was_offered

    def complete(self, exchange: Exchange) -> Outcome:
        """Answer `completion/complete`."""
        require(self, "completions")
        ref = exchange.params.ref
        if isinstance(ref, PromptReference):
            return self._completed(exchange, self._prompts, ref.name, "prompt")
        return self._completed(exchange, self._templates, ref.uri, "resource template")

    def _completed(
        self, exchange: Exchange, registry: Registry[Any], name: str, what: str
    ) -> Outcome:
        key = name if registry is self._prompts else key_of(name)
        found = registry.get(key)
        if found is not None:
            return _suggested(exchange, found)
        if registry.is_evaluated:
            return self._sought(exchange, registry, key, f"unknown {what}: {shown(name)}")
        raise InvalidParams(f"unknown {what}: {shown(name)}")

    @staticmethod
    async def _sought(
        exchange: Exchange, registry: Registry[Any], key: str, unknown: str
    ) -> Result:
        found = await registry.find(exchange, key)
        if found is None:
            raise InvalidParams(unknown)
        return await exchange.settle(_suggested(exchange, found))


def _suggested(exchange: Exchange, found: Prompt | Resource) -> Outcome:
    params: CompleteParams = exchange.params
    name, completers = params.argument.name, found.completers
    if name not in completers:
        known = ", ".join(completers) or "none"
        raise InvalidParams(
            f"params.argument.name: {shown(name)} is not an argument of {found.signature.what}; it "
            f"has {known}"
        )
    completer = completers[name]
    if completer is None:
        return CompleteResult(completion=WireCompletion(values=[]))
    context = params.context
    given = {} if context is UNSET or context is None else context.arguments
    ctx = found.callee.context(exchange) if completer.wants_context else None
    work = completer.call(params.argument.value, given, ctx)
    if completer.is_async and exchange.place is not None:
        work = partial(exchange.place.run, work)
    result = partial(_result, f"{found.signature.what}: the completer of {name!r}")
    return outcome_of(work, result, is_async=completer.is_async)


def _result(what: str, value: Any) -> CompleteResult:
    if isinstance(value, str) or not isinstance(value, Iterable | Completion):
        raise TypeError(
            f"{what} must return a list of str or a Completion, not {type(value).__name__}"
        )
    told = value if isinstance(value, Completion) else Completion(list(cast(Iterable[str], value)))
    found = [str(each) for each in told.values]
    total = told.total if told is value else len(found)
    if total is not None and total < len(found):
        raise ValueError(f"{what} returned {len(found)} values with {total=}; total counts all")
    has_more = told.has_more
    if len(found) > _MOST or (has_more is None and total is not None and total > len(found)):
        has_more = True
    return CompleteResult(
        completion=WireCompletion(
            values=found[:_MOST],
            total=UNSET if total is None else total,
            has_more=UNSET if has_more is None else has_more,
        )
    )
