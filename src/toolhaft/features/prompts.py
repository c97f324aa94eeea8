"""`prompts/list` and `prompts/get`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import msgspec
from msgspec import UNSET, Struct

from ..errors import InvalidParams, shown
from ..protocol.calls import Exchange, Outcome, Result, Subject
from ..protocol.revisions import Revision
from ..types.prompts import GetPromptResult, ListPromptsResult, PromptArgument, PromptMessage
from ..types.prompts import Prompt as PromptDescription
from ..types.wire import Icon, Meta
from .author_checks import check_described
from .functions.described_arguments import Arg, arguments_schema
from .functions.invocation import Callee, unchanged
from .functions.parameters import Parameter
from .functions.signature import BadArguments, Signature
from .lazy_validation import problems
from .providers.handlers import CustomHandler, DecoratedMethod, Recipe, Route
from .providers.prefix import twin
from .providers.registry import Registry, require
from .results.content import WIRE_BLOCKS, Block
from .results.messages import Message, user

# What to do about `**arguments` of a prompt.
_NOT_LISTED = "is no argument that a client could be told of; name each argument"


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
        args: Sequence[Arg] | None = None,
        custom: CustomHandler | None = None,
    ) -> None:
        what = f"prompt {name!r}"
        check_described(
            what, name=name, title=title, description=description, icons=icons, meta=meta
        )
        self.name = name
        self.signature = Signature(function, what, rest=_NOT_LISTED)
        self.callee = ready(self.signature)
        # How it was made, for whoever makes it anew.
        self.recipe: Recipe | None = None
        # Is asked first, before the function.
        self.custom = custom
        # The way of a call that has to go through another server.
        self.route: Route | None = None
        self.subject = Subject(name)
        # Arguments that are told one by one, where there is no function that has them.
        self._told = None if args is None else arguments_schema(args, what)
        # All of its arguments, each with what completes it, if that can be done.
        self.completers = {
            str(each.name): each.completer
            for each in (self.signature.parameters if args is None else args)
        }
        if description is None:
            description = self.signature.documentation.description
        self.description = PromptDescription(
            name=name,
            title=UNSET if title is None else title,
            description=UNSET if description is None else description,
            arguments=self._arguments(args) or UNSET,
            icons=list(icons) or UNSET,
            meta=UNSET if meta is None else meta,
        )

    def under(self, name: str, route: Route | None) -> "Prompt":
        """The same prompt as another server offers it."""
        other = twin(self)
        other.name, other.route, other.recipe = name, route, None
        other.subject = Subject(name, self.subject)
        other.description = msgspec.structs.replace(self.description, name=name)
        return other

    def bind(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments of the function.

        Raises:
            BadArguments: they are not what it takes.
        """
        if self._told is None:
            return self.signature.bind_strings(given)
        if found := problems(given, self._told, lenient=True):
            raise BadArguments(found)
        return {}

    def _arguments(self, args: Sequence[Arg] | None) -> list[PromptArgument]:
        if args is None:
            return [self._argument(each) for each in self.signature.parameters]
        return [
            PromptArgument(
                name=str(arg.name),
                description=UNSET if arg.description is None else arg.description,
                required=UNSET if arg.optional else True,
            )
            for arg in args
        ]

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

    def get(self, exchange: Exchange, prompt: Prompt | None = None) -> Outcome:
        """Answer `prompts/get`.

        Args:
            prompt: if it is known already which one is meant.
        """
        params = exchange.params
        if prompt is None:
            prompt = self.registry.get(params.name)
            if prompt is None:
                return self._elsewhere(exchange)
        exchange.subject = prompt.subject
        if prompt.route is not None:
            return prompt.route(exchange)
        given: dict[str, Any] = params.arguments or {}
        for name, value in given.items():
            if not isinstance(value, str):
                raise InvalidParams(f"params.arguments[{shown(name)}]: expected a string")
        try:
            arguments = prompt.bind(given)
        except BadArguments as error:
            problems = "; ".join(error.problems)
            raise InvalidParams(f"invalid arguments for {prompt.name}: {problems}") from None
        finish = partial(_result, prompt)
        if prompt.custom is None:
            return prompt.callee.outcome(exchange, arguments, finish)
        own = DecoratedMethod(prompt.callee, arguments, finish)
        return prompt.custom.outcome(exchange, (dict(given),), own, finish, unchanged)

    def _elsewhere(self, exchange: Exchange) -> Outcome:
        """A prompt that is not registered may be one that a source has."""
        require(self.registry, "prompts")
        if self.registry.sources:
            return self._sought(exchange)
        return self._unknown(exchange)

    async def _sought(self, exchange: Exchange) -> Result:
        prompt = await self.registry.find(exchange, exchange.params.name)
        if prompt is None:
            self._unknown(exchange)
        return await exchange.settle(self.get(exchange, prompt))

    def _unknown(self, exchange: Exchange) -> NoReturn:
        known = self.registry.some_names()
        there = f"; there are {known}" if known else ""
        raise InvalidParams(f"unknown prompt: {shown(exchange.params.name)}{there}")


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
