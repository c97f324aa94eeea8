"""Prompts, and the completion of what a user types into their arguments."""

from msgspec import UNSET, Struct, UnsetType, field

from .content import Content, Role
from .wire import AskingParams, Icon, Json, Meta, PagedResult, Params, Result, Wire


class PromptArgument(Wire):
    """One argument of a prompt, as a client shows it."""

    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    required: bool | UnsetType = UNSET


class Prompt(Wire):
    """A prompt in the list."""

    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    arguments: list[PromptArgument] | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ListPromptsResult(PagedResult, kw_only=True):
    """One page of the prompts."""

    prompts: list[Prompt]


class GetPromptParams(AskingParams, kw_only=True):
    """Which prompt is wanted, with which arguments."""

    name: str
    # Strings, by the specification; checked where an error can name the argument.
    arguments: dict[str, Json] | UnsetType | None = UNSET


class PromptMessage(Wire):
    """One message of a prompt: who says what."""

    role: Role
    content: Content


class GetPromptResult(Result, kw_only=True):
    """The messages of a prompt."""

    messages: list[PromptMessage]
    description: str | UnsetType = UNSET


class PromptReference(Struct, tag_field="type", tag="ref/prompt"):
    """A prompt, of which an argument is to be completed."""

    name: str


class ResourceReference(Struct, tag_field="type", tag="ref/resource"):
    """A template, of which a variable is to be completed."""

    uri: str


class CompletionArgument(Struct):
    """What is to be completed, and what was typed so far."""

    name: str
    value: str


class CompletionContext(Struct):
    """The arguments that are known already."""

    arguments: dict[str, str] = field(default_factory=dict[str, str])


class CompleteParams(Params, kw_only=True):
    """What suggestions are wanted for."""

    ref: PromptReference | ResourceReference
    argument: CompletionArgument
    context: CompletionContext | UnsetType | None = UNSET


class Completion(Wire):
    """Suggestions, and how many more there are."""

    values: list[str]
    total: int | UnsetType = UNSET
    has_more: bool | UnsetType = UNSET


class CompleteResult(Result, kw_only=True):
    """The answer with suggestions."""

    completion: Completion
