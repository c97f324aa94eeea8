"""Content blocks: what a tool answers with and what a prompt is made of."""

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from .wire import Icon, Meta, Wire

Role: TypeAlias = Literal["user", "assistant"]


class Annotations(Wire):
    """For whom a block is meant and how much it matters."""

    audience: list[Role] | UnsetType = UNSET
    priority: float | UnsetType = UNSET
    last_modified: str | UnsetType = UNSET


class TextContent(Wire, tag_field="type", tag="text"):
    """Text."""

    text: str
    annotations: Annotations | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ImageContent(Wire, tag_field="type", tag="image"):
    """A picture, as bytes (Base64 on the wire)."""

    data: bytes
    mime_type: str
    annotations: Annotations | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class AudioContent(Wire, tag_field="type", tag="audio"):
    """A sound, as bytes (Base64 on the wire)."""

    data: bytes
    mime_type: str
    annotations: Annotations | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class ResourceLink(Wire, tag_field="type", tag="resource_link"):
    """A resource that the client may read if it likes."""

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
    """What a resource holds, as text."""

    uri: str
    text: str
    mime_type: str | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class BlobContents(Wire):
    """What a resource holds, as bytes (Base64 on the wire)."""

    uri: str
    blob: bytes
    mime_type: str | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


class EmbeddedResource(Wire, tag_field="type", tag="resource"):
    """A resource with what it holds."""

    resource: TextContents | BlobContents
    annotations: Annotations | UnsetType = UNSET
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")


ResourceContents: TypeAlias = TextContents | BlobContents
Content: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
