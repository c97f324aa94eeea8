"""The keywords of the decorators, for type checkers. The methods of `Server` say what they mean."""

from collections.abc import Sequence
from typing import TypedDict

from .features.resources import Cache
from .types.content import Annotations
from .types.wire import Icon, Json, Meta


class _Options(TypedDict, total=False):
    """What all decorators take."""

    name: str | None
    title: str | None
    description: str | None
    icons: Sequence[Icon]
    meta: Meta | None
    timeout: float | None
    limit: int | None
    thread: bool
    replace: bool


class PromptOptions(_Options, total=False):
    """The keywords of `@server.prompt`."""


class ToolOptions(_Options, total=False):
    """The keywords of `@server.tool`."""

    read_only: bool | None
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None
    category: str | None
    tags: Sequence[str]
    input_schema: dict[str, Json] | None
    output_schema: dict[str, Json] | None
    strict: bool
    cache: float


class ResourceOptions(_Options, total=False):
    """The keywords of `@server.resource`."""

    mime_type: str | None
    size: int | None
    annotations: Annotations | None
    cache: float | Cache | None
    raw: bool
