"""What a server has answered, as values of types."""

import json
from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET, UnsetType, field

from ..client.failures import BadAnswer
from ..client.json_shapes import as_list, as_object
from ..types.content import (
    Annotations,
    AudioContent,
    BlobContents,
    Content,
    EmbeddedResource,
    ImageContent,
    ResourceContents,
    ResourceLink,
    TextContent,
    TextContents,
)
from ..types.prompts import PromptMessage
from ..types.wire import Meta, Wire

T = TypeVar("T")
Json: TypeAlias = dict[str, Any]

_WRAPPED = "result"
_BLOCKS: dict[str, type[Any]] = {
    "text": TextContent,
    "image": ImageContent,
    "audio": AudioContent,
    "resource_link": ResourceLink,
}


class ToolFailed(AssertionError):
    """A tool has answered with an error; `str` is its text, and `result` the whole answer."""

    def __init__(self, tool: str, result: "ToolResult") -> None:
        super().__init__(f"{tool}: {result.text}")
        self.tool = tool
        self.result = result


class ToolResult(Wire, kw_only=True):
    """What a tool has answered: all of it."""

    content: list[Content]
    # Any JSON value; null is not the same as absent.
    structured: Any | UnsetType = UNSET
    is_error: bool = False
    meta: Meta | UnsetType = field(default=UNSET, name="_meta")

    @property
    def text(self) -> str:
        """Its text."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def value(self) -> Any:
        """What the tool returned: its data if there are any; else its text, its one block of
        content, or the list of them."""
        if self.structured is not UNSET:
            return self._unwrapped()
        values = [b.text if isinstance(b, TextContent) else b for b in self.content]
        return values[0] if len(values) == 1 else values or None

    def _unwrapped(self) -> Any:
        """Before 2026-07-28, what is no object has to travel inside of one. The text beside it has
        no such wrapping, which tells it from a tool that does return an object like that."""
        members = as_object(self.structured)
        if members is None or list(members) != [_WRAPPED] or _says(self.text, members):
            return self.structured
        return members[_WRAPPED]


class PromptAnswer(Wire, kw_only=True):
    """The messages of a prompt."""

    messages: list[PromptMessage]
    description: str | UnsetType = UNSET

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Who says what, as far as it is text."""
        return [
            (message.role, message.content.text)
            for message in self.messages
            if isinstance(message.content, TextContent)
        ]


def _says(text: str, value: Any) -> bool:
    try:
        return bool(json.loads(text) == value)
    except ValueError:
        return False


def tool_result(result: Json) -> ToolResult:
    """Read the result of `tools/call`."""
    return ToolResult(
        content=blocks(_member(result, "content", "tools/call")),
        structured=result.get("structuredContent", UNSET),
        is_error=bool(result.get("isError")),
        meta=result.get("_meta", UNSET),
    )


def prompt_answer(result: Json) -> PromptAnswer:
    """Read the result of `prompts/get`."""
    messages = [
        PromptMessage(each["role"], block(each["content"]))
        for each in _member(result, "messages", "prompts/get")
    ]
    return PromptAnswer(messages=messages, description=result.get("description", UNSET))


def contents(result: Json) -> list[ResourceContents]:
    """Read the result of `resources/read`."""
    return [_contents(each) for each in _member(result, "contents", "resources/read")]


def blocks(sent: Iterable[Json]) -> list[Content]:
    """Read content."""
    return [block(each) for each in sent]


def block(sent: Json) -> Content:
    """Read a block of content."""
    kind = sent.get("type")
    if kind == "resource":
        annotations = sent.get("annotations", UNSET)
        return EmbeddedResource(
            _contents(sent["resource"]),
            annotations if annotations is UNSET else converted(annotations, Annotations, "content"),
            sent.get("_meta", UNSET),
        )
    if kind not in _BLOCKS:
        raise BadAnswer(f"the server sent content of a type that nobody knows: {kind!r}")
    return cast(Content, converted(sent, _BLOCKS[kind], f"content of type {kind!r}"))


def _contents(sent: Json) -> ResourceContents:
    what = "the contents of a resource"
    if "blob" in sent:
        return converted(sent, BlobContents, what)
    return converted(sent, TextContents, what)


def converted(sent: Any, kind: type[T], what: str) -> T:
    """What was sent, as a value of its type.

    Raises:
        BadAnswer: it is none.
    """
    try:
        return msgspec.convert(sent, kind)
    except msgspec.ValidationError as error:
        raise BadAnswer(f"{what}: the server sent what is none: {error}") from None


def _member(result: Json, name: str, what: str) -> list[Json]:
    found = as_list(result.get(name))
    if found is None:
        raise BadAnswer(f"{what}: the server's result has no list {name!r}: {result!r:.200}")
    return found
