"""Tools: how they are described, called and answered."""

from msgspec import UNSET, Raw, UnsetType, field

from .content import Content
from .wire import AskingParams, Icon, Json, Meta, PagedResult, Result, Wire


class ToolAnnotations(Wire):
    """Hints about what a tool does. Unset is not false: it means that nobody said."""

    title: str | UnsetType = UNSET
    read_only_hint: bool | UnsetType = UNSET
    destructive_hint: bool | UnsetType = UNSET
    idempotent_hint: bool | UnsetType = UNSET
    open_world_hint: bool | UnsetType = UNSET


class Tool(Wire):
    """A tool in the list."""

    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    input_schema: dict[str, Json] = field(default_factory=dict[str, Json])
    output_schema: dict[str, Json] | UnsetType = UNSET
    annotations: ToolAnnotations | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ListToolsResult(PagedResult, kw_only=True):
    """One page of the tools."""

    tools: list[Tool]


class CallToolParams(AskingParams, kw_only=True):
    """Which tool is called, with which arguments."""

    name: str
    # Raw until the tool is known, whose own decoder then reads it in one pass.
    arguments: Raw | UnsetType = UNSET


class CallToolResult(Result, kw_only=True):
    """What it has answered: content, and data if it has any."""

    content: list[Content]
    # Any JSON value: null is a value here, and not the same as absent.
    structured_content: Json | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET
