"""`prompts/list` and `prompts/get`."""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import UNSET

from ..errors import InvalidParams, shown
from ..protocol.calls import Exchange, Outcome
from ..protocol.revisions import Revision
from ..types.content import Content, Role, TextContent
from ..types.prompts import GetPromptResult, ListPromptsResult, PromptArgument, PromptMessage
from ..types.prompts import Prompt as PromptDescription
from ..types.wire import Icon, Meta
from .calling import called
from .context import MakeContext
from .registry import Registry, require
from .signature import BadArguments, Signature
from .values import BLOCKS


def user(content: str | Content) -> PromptMessage:
    """A message that the user says."""
    return _said("user", content)


def assistant(content: str | Content) -> PromptMessage:
    """A message that the model has said."""
    return _said("assistant", content)


def _said(role: Role, content: str | Content) -> PromptMessage:
    return PromptMessage(role, TextContent(content) if isinstance(content, str) else content)


class Prompt:
    """A function that writes messages for the user to send."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        title: str | None = None,
        description: str | None = None,
        icons: list[Icon] | None = None,
        meta: Meta | None = None,
        inline: bool = False,
    ) -> None:
        self.name = name
        self.inline = inline
        self.signature = Signature(function, f"prompt {name!r}")
        arguments = [
            PromptArgument(
                name=parameter.name,
                description=UNSET if parameter.description is None else parameter.description,
                required=True if parameter.required else UNSET,
            )
            for parameter in self.signature.parameters
        ]
        self.description = PromptDescription(
            name=name,
            title=UNSET if title is None else title,
            description=UNSET if description is None else description,
            arguments=arguments if arguments else UNSET,
            icons=UNSET if icons is None else icons,
            meta=UNSET if meta is None else meta,
        )


class Prompts:
    """The prompts of a server."""

    def __init__(self, registry: Registry[Prompt], *, context: MakeContext) -> None:
        self.registry = registry
        self._context = context

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
        for name in prompt.signature.contexts:
            arguments[name] = self._context(exchange)
        return called(
            prompt.signature.function,
            arguments,
            is_async=prompt.signature.is_async,
            inline=prompt.inline,
            finish=partial(_result, prompt),
        )


def _list(prompts: list[Prompt], _revision: Revision) -> ListPromptsResult:
    return ListPromptsResult(
        prompts=[prompt.description for prompt in prompts], ttl_ms=0, cache_scope="public"
    )


def _result(prompt: Prompt, value: Any) -> GetPromptResult:
    if isinstance(value, GetPromptResult):
        return value
    items: list[Any] = list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]
    return GetPromptResult(
        messages=[_message(item) for item in items], description=prompt.description.description
    )


def _message(value: Any) -> PromptMessage:
    if isinstance(value, PromptMessage):
        return value
    if isinstance(value, (str, *BLOCKS)):
        return user(value)
    raise TypeError(
        f"a prompt returns str, content, messages or a list of them, not {type(value).__name__}"
    )
