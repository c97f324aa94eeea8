"""Resources and resource templates, and the contents of resources."""

from msgspec import UNSET, UnsetType, field

from .content import Annotations, ResourceContents
from .wire import AskingParams, CacheableResult, Icon, Meta, PagedResult, Params, Wire


class Resource(Wire):
    """A resource as `resources/list` shows it."""

    uri: str
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    size: int | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    annotations: Annotations | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ResourceTemplate(Wire):
    """A template as `resources/templates/list` shows it. A URI that matches it can be read."""

    uri_template: str
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    annotations: Annotations | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ListResourcesResult(PagedResult, kw_only=True):
    """Result of `resources/list`: one page."""

    resources: list[Resource]


class ListResourceTemplatesResult(PagedResult, kw_only=True):
    """Result of `resources/templates/list`: one page."""

    resource_templates: list[ResourceTemplate]


class ResourceParams(Params, kw_only=True):
    """Parameters of `resources/subscribe` and `resources/unsubscribe`."""

    uri: str


class ReadResourceParams(AskingParams, kw_only=True):
    """Parameters of `resources/read`."""

    uri: str


class ReadResourceResult(CacheableResult, kw_only=True):
    """Result of `resources/read`."""

    contents: list[ResourceContents]
