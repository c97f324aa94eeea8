"""Prompts, and completion of the values of their arguments."""

from msgspec import UNSET, Struct, UnsetType, field

from .content import Content, Role
from .wire import AskingParams, Icon, Json, Meta, PagedResult, Params, Result, Wire


class PromptArgument(Wire):
    """One argument of a listed prompt."""

    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    required: bool | UnsetType = UNSET


class Prompt(Wire):
    """A prompt as `prompts/list` shows it."""

    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    arguments: list[PromptArgument] | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ListPromptsResult(PagedResult, kw_only=True):
    """Result of `prompts/list`: one page."""

    prompts: list[Prompt]


class GetPromptParams(AskingParams, kw_only=True):
    """Parameters of `prompts/get`."""

    name: str
    # The specification allows only strings. That is checked later, where the error message can
    # name the argument.
    arguments: dict[str, Json] | UnsetType | None = UNSET


class PromptMessage(Wire):
    """One message of a prompt: its role and its content."""

    role: Role
    content: Content


class GetPromptResult(Result, kw_only=True):
    """Result of `prompts/get`."""

    messages: list[PromptMessage]
    description: str | UnsetType = UNSET


class PromptReference(Struct, tag_field="type", tag="ref/prompt"):
    """The prompt whose argument is completed."""

    name: str


class ResourceReference(Struct, tag_field="type", tag="ref/resource"):
    """The resource template whose variable is completed."""

    uri: str


class CompletionArgument(Struct):
    """The name of the argument or variable, and the text typed so far."""

    name: str
    value: str


class CompletionContext(Struct):
    """The arguments that already have values."""

    arguments: dict[str, str] = field(default_factory=dict[str, str])


class CompleteParams(Params, kw_only=True):
    """Parameters of `completion/complete`."""

    ref: PromptReference | ResourceReference
    argument: CompletionArgument
    context: CompletionContext | UnsetType | None = UNSET


class Completion(Wire):
    """Suggested values, how many there are in total, and whether more exist."""

    values: list[str]
    total: int | UnsetType = UNSET
    has_more: bool | UnsetType = UNSET


class CompleteResult(Result, kw_only=True):
    """Result of `completion/complete`."""

    completion: Completion
