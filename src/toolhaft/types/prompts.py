"""Prompts, and the completion of what a user types into their arguments."""

from msgspec import UNSET, Struct, UnsetType, field

from .content import Content, Role
from .wire import AskingParams, Icon, Json, Meta, PagedResult, Params, Result, Wire


class PromptArgument(Wire):
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    required: bool | UnsetType = UNSET


class Prompt(Wire):
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    arguments: list[PromptArgument] | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ListPromptsResult(PagedResult, kw_only=True):
    prompts: list[Prompt]


class GetPromptParams(AskingParams, kw_only=True):
    name: str
    # Strings, by the specification; checked where an error can name the argument.
    arguments: dict[str, Json] | UnsetType | None = UNSET


class PromptMessage(Wire):
    role: Role
    content: Content


class GetPromptResult(Result, kw_only=True):
    messages: list[PromptMessage]
    description: str | UnsetType = UNSET


class PromptReference(Struct, tag_field="type", tag="ref/prompt"):
    name: str


class ResourceReference(Struct, tag_field="type", tag="ref/resource"):
    uri: str


class CompletionArgument(Struct):
    name: str
    value: str


class CompletionContext(Struct):
    arguments: dict[str, str] = field(default_factory=dict[str, str])


class CompleteParams(Params, kw_only=True):
    ref: PromptReference | ResourceReference
    argument: CompletionArgument
    context: CompletionContext | UnsetType | None = UNSET


class Completion(Wire):
    values: list[str]
    total: int | UnsetType = UNSET
    has_more: bool | UnsetType = UNSET


class CompleteResult(Result, kw_only=True):
    completion: Completion
