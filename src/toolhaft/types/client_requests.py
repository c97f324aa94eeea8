"""What we ask a client for: words of its user, of its model, or where it works."""

from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

from .content import AudioContent, Content, ImageContent, Role, TextContent
from .wire import Json, Meta, Wire


class ElicitParams(Wire, kw_only=True):
    """A form for the user."""

    message: str
    requested_schema: dict[str, Json]


class ElicitResult(Struct):
    """What the user has answered to a form or a page."""

    # "accept", "decline" or "cancel"; or what a later revision may have beside these.
    action: str
    content: dict[str, Json] | None = None


class ToolUse(Wire, tag_field="type", tag="tool_use"):
    """A model wants a tool to be called."""

    id: str
    name: str
    input: dict[str, Any]
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ToolResultContent(Wire, tag_field="type", tag="tool_result"):
    """What the tool gave, for the model."""

    tool_use_id: str
    content: list[Content]
    is_error: bool | UnsetType = UNSET


# What a model writes, and what it is sent.
Written: TypeAlias = TextContent | ImageContent | AudioContent | ToolUse
Sent: TypeAlias = Written | ToolResultContent


class SamplingMessage(Wire):
    """A message to a model of the client."""

    role: Role
    content: Sent | list[Sent]


class ModelHint(Wire):
    """A model that would be good, by its name or a part of it."""

    name: str


class ModelPreferences(Wire, kw_only=True):
    """Which model is wanted: hints first, then how much each of three things matters."""

    hints: list[ModelHint] | UnsetType = UNSET
    cost_priority: float | UnsetType = UNSET
    speed_priority: float | UnsetType = UNSET
    intelligence_priority: float | UnsetType = UNSET


class SamplingTool(Wire):
    """A tool that the client's model may ask for."""

    name: str
    description: str | UnsetType = UNSET
    input_schema: dict[str, Json] = field(default_factory=dict[str, Json])


class ToolChoice(Wire):
    """Whether the model may, must or must not ask for a tool."""

    mode: str


class CreateMessageParams(Wire, kw_only=True):
    """What a model of the client is asked."""

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
    """What it has written."""

    role: Role
    content: Written | list[Written]
    model: str
    stop_reason: str | None = None


class Root(Struct, frozen=True):
    """A folder or a file that the client works in."""

    uri: str
    name: str | None = None


class ListRootsResult(Struct):
    """Where the client works."""

    roots: list[Root]
