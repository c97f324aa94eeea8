"""Content blocks of tool results and prompt messages."""

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from .wire import Icon, Meta, Wire

Role: TypeAlias = Literal["user", "assistant"]


class Annotations(Wire):
    """The audience of a block, its priority from 0 to 1, and its last modification."""

    audience: list[Role] | UnsetType = UNSET
    priority: float | UnsetType = UNSET
    last_modified: str | UnsetType = UNSET


class TextContent(Wire, tag_field="type", tag="text"):
    """A text block."""

    text: str
    annotations: Annotations | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ImageContent(Wire, tag_field="type", tag="image"):
    """An image block; `data` is Base64 on the wire."""

    data: bytes
    mime_type: str
    annotations: Annotations | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class AudioContent(Wire, tag_field="type", tag="audio"):
    """An audio block; `data` is Base64 on the wire."""

    data: bytes
    mime_type: str
    annotations: Annotations | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ResourceLink(Wire, tag_field="type", tag="resource_link"):
    """A link to a resource, without its contents."""

    uri: str
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    size: int | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    annotations: Annotations | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class TextContents(Wire):
    """Contents of a resource as text."""

    uri: str
    text: str
    mime_type: str | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class BlobContents(Wire):
    """Contents of a resource as bytes; `blob` is Base64 on the wire."""

    uri: str
    blob: bytes
    mime_type: str | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class EmbeddedResource(Wire, tag_field="type", tag="resource"):
    """A resource block with its contents."""

    resource: TextContents | BlobContents
    annotations: Annotations | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


ResourceContents: TypeAlias = TextContents | BlobContents
Content: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
