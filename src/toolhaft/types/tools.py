"""Tools: list entries, call parameters and results."""

from msgspec import UNSET, Raw, UnsetType, field

from .content import Content
from .wire import AskingParams, Icon, Json, Meta, PagedResult, Result, Wire


class ToolAnnotations(Wire):
    """Hints about what a tool does. Unset is not false: the author has not specified it."""

    title: str | UnsetType = UNSET
    read_only_hint: bool | UnsetType = UNSET
    destructive_hint: bool | UnsetType = UNSET
    idempotent_hint: bool | UnsetType = UNSET
    open_world_hint: bool | UnsetType = UNSET


class Tool(Wire):
    """A tool as `tools/list` shows it."""

    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    input_schema: dict[str, Json] = field(default_factory=dict[str, Json])
    output_schema: dict[str, Json] | UnsetType = UNSET
    annotations: ToolAnnotations | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ListToolsResult(PagedResult, kw_only=True):
    """Result of `tools/list`: one page."""

    tools: list[Tool]


class CallToolParams(AskingParams, kw_only=True):
    """Parameters of `tools/call`."""

    name: str
    # Kept as raw JSON until the tool is found. Its decoder then reads them in one pass.
    arguments: Raw | UnsetType = UNSET


class CallToolResult(Result, kw_only=True):
    """Result of `tools/call`: content blocks, and structured content if the tool has any."""

    content: list[Content]
    # Any JSON value: null is a value here, and not the same as absent.
    structured_content: Json | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET
