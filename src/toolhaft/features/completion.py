"""`completion/complete`: which completer an argument has, and what of it is sent."""

from functools import partial
from typing import Any

from msgspec import UNSET

from ..errors import InvalidParams, shown
from ..protocol.calls import Exchange, Outcome
from ..types.prompts import CompleteParams, CompleteResult, Completion, PromptReference
from .calling import called
from .parameters import Parameter
from .prompts import Prompts
from .registry import require
from .resources import Resources, key_of
from .signature import Signature

# "Maximum 100 items per response."
_MOST = 100


class Completions:
    """Suggestions for the arguments of prompts and the variables of templates."""

    def __init__(self, prompts: Prompts, resources: Resources) -> None:
        self._prompts = prompts
        self._resources = resources

    def __len__(self) -> int:
        """How many arguments complete."""
        signatures = [prompt.signature for prompt in self._prompts.registry]
        signatures += [resource.signature for resource in self._resources.templates]
        return sum(
            parameter.completer is not None
            for signature in signatures
            for parameter in signature.parameters
        )

    def complete(self, exchange: Exchange) -> Outcome:
        """Answer `completion/complete`."""
        require(self, "completions")
        params: CompleteParams = exchange.params
        parameter = self._parameter(params)
        completer = None if parameter is None else parameter.completer
        if completer is None:
            return CompleteResult(completion=Completion(values=[]))
        context = params.context
        given = {} if context is UNSET or context is None else context.arguments
        work = completer.call(params.argument.value, given)
        if completer.is_async and exchange.place is not None:
            work = partial(exchange.place.run, work)
        return called(work, _result, is_async=completer.is_async)

    def _parameter(self, params: CompleteParams) -> Parameter | None:
        signature = self._signature(params)
        if signature is None:
            return None
        parameter = signature.parameter(params.argument.name)
        if parameter is None:
            known = ", ".join(parameter.name for parameter in signature.parameters) or "none"
            raise InvalidParams(
                f"params.argument.name: {shown(params.argument.name)} is not an argument of "
                f"{signature.what}; it has {known}"
            )
        return parameter

    def _signature(self, params: CompleteParams) -> Signature | None:
        """Whose argument it is; None for what only a source may know, and nobody completes."""
        ref = params.ref
        if isinstance(ref, PromptReference):
            prompt = self._prompts.registry.get(ref.name)
            if prompt is None:
                if self._prompts.registry.sources:
                    return None
                raise InvalidParams(f"unknown prompt: {shown(ref.name)}")
            return prompt.signature
        template = self._resources.templates.get(key_of(ref.uri))
        if template is None:
            if self._resources.templates.sources:
                return None
            raise InvalidParams(f"unknown resource template: {shown(ref.uri)}")
        return template.signature


def _result(values: Any) -> CompleteResult:
    if isinstance(values, str):
        raise TypeError("a completer returns a list of str, not one str")
    found = [str(value) for value in values]
    completion = Completion(values=found[:_MOST], total=len(found))
    if len(found) > _MOST:
        completion.has_more = True
    return CompleteResult(completion=completion)
