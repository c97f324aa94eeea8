"""Entries of the lists of a provider: `ToolInfo`, `PromptInfo`, `ResourceInfo`."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ...schema.from_types import Schema
from ...types.content import Annotations
from ...types.wire import Icon, Meta
from ..functions.completers import Completes
from ..functions.described_arguments import Arg
from ..resources import Cache
from ..tools import ErrorSetting, ToolDetails, hints


class _Named(Struct, frozen=True):
    name: str
    description: str | None = None

    @property
    def key(self) -> str:
        """The key in the registry."""
        return self.name


class ToolInfo(_Named, frozen=True, kw_only=True):
    """A tool in the list of a provider. Keywords are as in `Server.add_tool`; without `args` and
    `input_schema` it takes no arguments."""

    title: str | None = None
    args: Sequence[Arg] | None = None
    input_schema: Schema | None = None
    output_schema: Schema | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    category: str | None = None
    tags: Sequence[str] = ()
    icons: Sequence[Icon] = ()
    meta: Meta | None = None
    timeout: float | None = None
    limit: int | None = None
    cache: float = 0
    errors: ErrorSetting | None = None
    needs_session: bool = False

    def details(self) -> ToolDetails:
        """Return the keywords as a registered tool takes them."""
        return ToolDetails(
            title=self.title,
            description=self.description,
            annotations=hints(
                f"tool {self.name!r}",
                read_only=self.read_only,
                destructive=self.destructive,
                idempotent=self.idempotent,
                open_world=self.open_world,
            ),
            icons=self.icons,
            meta=self.meta,
            category=self.category,
            tags=self.tags,
            args=() if self.args is None and self.input_schema is None else self.args,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            cache=self.cache,
            errors=self.errors,
            needs_session=self.needs_session,
        )


class PromptInfo(_Named, frozen=True, kw_only=True):
    """A prompt in the list of a provider. Its arguments are strings; an argument with `enum` or
    `complete` is completed. Other keywords are as in `Server.add_prompt`."""

    title: str | None = None
    args: Sequence[Arg] = ()
    icons: Sequence[Icon] = ()
    meta: Meta | None = None
    timeout: float | None = None
    limit: int | None = None


class ResourceInfo(Struct, frozen=True):
    """A resource in the list of a provider, or a template: a `{` in the URI makes it one. Keywords
    are as in `Server.add_resource`; `complete` has functions as in `Complete(function)`, by the
    names of variables."""

    uri: str
    # By default the URI.
    name: str | None = None
    description: str | None = None
    mime_type: str | None = None
    title: str | None = None
    size: int | None = None
    icons: Sequence[Icon] = ()
    annotations: Annotations | None = None
    meta: Meta | None = None
    timeout: float | None = None
    limit: int | None = None
    cache: float | Cache | None = None
    complete: Mapping[str, Completes] | None = None

    @property
    def key(self) -> str:
        """The key in the registry."""
        return self.uri
