"""`prompts/list` and `prompts/get`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec import UNSET, Struct

from ..errors import InvalidParams, shown
from ..protocol.calls import Exchange, Outcome
from ..protocol.revisions import Revision
from ..types.prompts import GetPromptResult, ListPromptsResult, PromptArgument, PromptMessage
from ..types.prompts import Prompt as PromptDescription
from ..types.wire import Icon, Meta
from .authoring import check_described
from .calling import Callee
from .content import WIRE_BLOCKS, Block
from .messages import Message, user
from .parameters import Parameter
from .registry import Registry, require
from .signature import BadArguments, Signature


class PromptResult(Struct, frozen=True):
    """The messages of a prompt, and what they are for.

    Args:
        messages: as a prompt may return them: str, messages, content, or a list of these.
    """

    description: str
    messages: Any


class Prompt:
    """A function that writes messages for the user to send."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        ready: Callable[[Signature], Callee],
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
        meta: Meta | None = None,
    ) -> None:
        check_described(
            f"prompt {name!r}", title=title, description=description, icons=icons, meta=meta
        )
        self.name = name
        self.signature = Signature(function, f"prompt {name!r}")
        self.callee = ready(self.signature)
        if description is None:
            description = self.signature.documentation.description
        self.description = PromptDescription(
            name=name,
            title=UNSET if title is None else title,
            description=UNSET if description is None else description,
            arguments=[self._argument(each) for each in self.signature.parameters] or UNSET,
            icons=list(icons) or UNSET,
            meta=UNSET if meta is None else meta,
        )

    def _argument(self, parameter: Parameter) -> PromptArgument:
        description = self.signature.description_of(parameter)
        return PromptArgument(
            name=parameter.name,
            description=UNSET if description is None else description,
            required=True if parameter.required else UNSET,
        )


class Prompts:
    """The prompts of a server."""

    def __init__(self, registry: Registry[Prompt]) -> None:
        self.registry = registry

    def list(self, exchange: Exchange) -> Outcome:
        """Answer `prompts/list`."""
        require(self.registry, "prompts")
        return self.registry.page(exchange, _list)

    def get(self, exchange: Exchange) -> Outcome:
        """Answer `prompts/get`."""
        params = exchange.params
        prompt = self.registry.get(params.name)
        if prompt is None:
            require(self.registry, "prompts")
            known = self.registry.some_names()
            raise InvalidParams(f"unknown prompt: {shown(params.name)}; there are {known}")
        given: dict[str, Any] = params.arguments or {}
        for name, value in given.items():
            if not isinstance(value, str):
                raise InvalidParams(f"params.arguments[{shown(name)}]: expected a string")
        try:
            arguments = prompt.signature.bind_strings(given)
        except BadArguments as error:
            problems = "; ".join(error.problems)
            raise InvalidParams(f"invalid arguments for {prompt.name}: {problems}") from None
        return prompt.callee.outcome(exchange, arguments, partial(_result, prompt))


def _list(prompts: list[Prompt], _revision: Revision) -> ListPromptsResult:
    return ListPromptsResult(
        prompts=[prompt.description for prompt in prompts], ttl_ms=0, cache_scope="public"
    )


def _result(prompt: Prompt, value: Any) -> GetPromptResult:
    if isinstance(value, GetPromptResult):
        return value
    description = prompt.description.description
    if isinstance(value, PromptResult):
        description, value = value.description, value.messages
    items: list[Any] = list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]
    return GetPromptResult(messages=[_message(item) for item in items], description=description)


def _message(value: Any) -> PromptMessage:
    if isinstance(value, PromptMessage):
        return value
    if isinstance(value, Message):
        return value.wire()
    if isinstance(value, (str, Block, *WIRE_BLOCKS)):
        return user(value).wire()
    raise TypeError(
        f"a prompt returns str, content, messages or a list of them, not {type(value).__name__}"
    )
