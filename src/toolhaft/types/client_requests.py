"""Requests of the server to the client: elicitation, sampling and roots."""

from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

from .content import AudioContent, Content, ImageContent, Role, TextContent
from .wire import Json, Meta, Wire


class ElicitParams(Wire, kw_only=True):
    """Parameters of an `elicitation/create` request in form mode."""

    message: str
    requested_schema: dict[str, Json]


class ElicitResult(Struct):
    """Result of `elicitation/create`, in form and in URL mode."""

    # "accept", "decline" or "cancel". Not a Literal: a later revision may add an action.
    action: str
    content: dict[str, Json] | None = None


class ToolUse(Wire, tag_field="type", tag="tool_use"):
    """A tool call that a model requests in its reply."""

    id: str
    name: str
    input: dict[str, Any]
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ToolResultContent(Wire, tag_field="type", tag="tool_result"):
    """The result of a requested tool call, sent back to the model."""

    tool_use_id: str
    content: list[Content]
    is_error: bool | UnsetType = UNSET


# Content blocks in a reply of the model, and in messages to it.
Written: TypeAlias = TextContent | ImageContent | AudioContent | ToolUse
Sent: TypeAlias = Written | ToolResultContent


class SamplingMessage(Wire):
    """A message to the client's model."""

    role: Role
    content: Sent | list[Sent]


class ModelHint(Wire):
    """A suggested model, by its name or a part of it."""

    name: str


class ModelPreferences(Wire, kw_only=True):
    """Preferred models, and priorities from 0 to 1 for cost, speed and intelligence."""

    hints: list[ModelHint] | UnsetType = UNSET
    cost_priority: float | UnsetType = UNSET
    speed_priority: float | UnsetType = UNSET
    intelligence_priority: float | UnsetType = UNSET


class SamplingTool(Wire):
    """A tool that the client's model may request."""

    name: str
    description: str | UnsetType = UNSET
    input_schema: dict[str, Json] = field(default_factory=dict[str, Json])


class ToolChoice(Wire):
    """Whether the model may, must or must not request a tool."""

    mode: str


class CreateMessageParams(Wire, kw_only=True):
    """Parameters of `sampling/createMessage`."""

    messages: list[SamplingMessage]
    max_tokens: int
    model_preferences: ModelPreferences | UnsetType = UNSET
    system_prompt: str | UnsetType = UNSET
    temperature: float | UnsetType = UNSET
    stop_sequences: list[str] | UnsetType = UNSET
    metadata: dict[str, Json] | UnsetType = UNSET
    tools: list[SamplingTool] | UnsetType = UNSET
    tool_choice: ToolChoice | UnsetType = UNSET


class CreateMessageResult(Struct, rename="camel"):
    """Result of `sampling/createMessage`: the reply of the model."""

    role: Role
    content: Written | list[Written]
    model: str
    stop_reason: str | None = None


class Root(Struct, frozen=True):
    """A folder or file in the client's workspace."""

    uri: str
    name: str | None = None


class ListRootsResult(Struct):
    """Result of `roots/list`."""

    roots: list[Root]
