"""Resources: what can be read, under which URIs, and what was read."""

from msgspec import UNSET, UnsetType, field

from .content import Annotations, ResourceContents
from .wire import AskingParams, CacheableResult, Icon, Meta, PagedResult, Params, Wire


class Resource(Wire):
    """A resource in the list."""

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
    """A template in the list: all URIs that match it can be read."""

    uri_template: str
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    annotations: Annotations | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ListResourcesResult(PagedResult, kw_only=True):
    """One page of the resources."""

    resources: list[Resource]


class ListResourceTemplatesResult(PagedResult, kw_only=True):
    """One page of the templates."""

    resource_templates: list[ResourceTemplate]


class ResourceParams(Params, kw_only=True):
    """Of `resources/subscribe` and `resources/unsubscribe`."""

    uri: str


class ReadResourceParams(AskingParams, kw_only=True):
    """Which resource is to be read."""

    uri: str


class ReadResourceResult(CacheableResult, kw_only=True):
    """What it holds: one content or several."""

    contents: list[ResourceContents]
