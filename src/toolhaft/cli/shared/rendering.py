"""What the server answers, as text for a terminal. Functions of values; nothing is printed here."""

import json
import textwrap
from base64 import b64decode
from typing import Any, TypeAlias

from toolhaft_bridge.display import line, record

from ...client.json_shapes import as_list, as_object
from .console import as_json
from .schema_text import full, parameters, short

Json: TypeAlias = dict[str, Any]

_COLUMNS = 100
_HINTS = {
    "readOnlyHint": ("read-only", "not read-only"),
    "destructiveHint": ("destructive", "not destructive"),
    "idempotentHint": ("idempotent", "not idempotent"),
    "openWorldHint": ("open world", "closed world"),
}
_LONGEST_WHOLE = 60
_MOST_VALUES = 10


# Lists


def tool_entry(tool: Json) -> str:
    """A tool in the list: its signature, and what that does not say of its parameters."""
    schema: Json = tool.get("inputSchema", {})
    properties: dict[str, Json] = schema.get("properties", {})
    head = _signature(tool["name"], parameters(schema))
    lines = [_parameter(name, each, schema) for name, each in properties.items()]
    return _entry(head, tool, lines)


def resource_entry(resource: Json) -> str:
    """A resource or a template in the list."""
    uri = line(resource.get("uri") or resource["uriTemplate"])
    kind = resource.get("mimeType")
    return _entry(f"{uri}  [{line(kind)}]" if kind else uri, resource)


def prompt_entry(prompt: Json) -> str:
    """A prompt in the list; an argument may come with the `values` that are suggested for it."""
    arguments: list[Json] = prompt.get("arguments", [])
    first = [each["name"] for each in arguments if each.get("required")]
    last = [f"{each['name']}?" for each in arguments if not each.get("required")]
    head = _signature(prompt["name"], first + last)
    return _entry(head, prompt, [_argument(each) for each in arguments])


def _signature(name: str, parts: list[str]) -> str:
    # Lines break between parameters, not within: spaces that must stay are hidden from textwrap.
    whole = [part.replace(" ", "\xa0") if len(part) <= _LONGEST_WHOLE else part for part in parts]
    return _wrapped(f"{name}({', '.join(whole)})", "  ").replace("\xa0", " ").strip()


def _parameter(name: str, schema: Json, root: Json) -> str:
    """A parameter in a line of its own; empty if the signature has told everything."""
    description = _first_paragraph(schema)
    type_ = full(schema, root)
    if not description and type_ == short(schema):
        return ""
    return f"{name}: {type_}  {description}".rstrip()


def _argument(argument: Json) -> str:
    values: list[str] = argument.get("values", [])
    choice = [json.dumps(value, ensure_ascii=False) for value in values[:_MOST_VALUES]]
    more = ["…"] if len(values) > _MOST_VALUES else []
    told = [text for text in (" | ".join(choice + more), _first_paragraph(argument)) if text]
    return f"{argument['name']}: {'  '.join(told)}" if told else ""


def _first_paragraph(described: Json) -> str:
    description = str(described.get("description", "")).strip()
    return " ".join(description.partition("\n\n")[0].split())


def _entry(head: str, described: Json, details: list[str] | None = None) -> str:
    description = str(described.get("description", "")).strip()
    lines = [
        *_named("title", _title(described)),
        *description.splitlines()[:1],
        *_named("hints", ", ".join(_hints(described))),
        *(details or []),
    ]
    return "\n".join([f"  {head}", *(_wrapped(line, " " * 6) for line in lines if line)])


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(
        line(text),
        _COLUMNS,
        initial_indent=indent,
        subsequent_indent=" " * 10,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _named(name: str, text: str) -> list[str]:
    return [f"{name}: {text}"] if text else []


def _title(described: Json) -> str:
    """What it is called for people, unless that is its name."""
    annotations = as_object(described.get("annotations")) or {}
    title = str(described.get("title") or annotations.get("title") or "")
    return "" if title == described["name"] else title


def _hints(described: Json) -> list[str]:
    """What was said of a tool, or of a resource; what was not said is not known."""
    annotations = as_object(described.get("annotations")) or {}
    hints = [
        words[0] if annotations[key] else words[1]
        for key, words in _HINTS.items()
        if isinstance(annotations.get(key), bool)
    ]
    audience = as_list(annotations.get("audience")) or []
    hints += [f"for {' and '.join(map(str, audience))}"] if audience else []
    priority = annotations.get("priority")
    return [*hints, f"priority {priority}"] if isinstance(priority, int | float) else hints


def paragraph(text: str) -> str:
    """Lines of their own, indented."""
    return "\n".join(f"  {line(each)}".rstrip() for each in text.strip().splitlines())


def section(title: str, entries: list[str]) -> str:
    """A list under its title."""
    return "\n".join([f"{title}:", *entries]) + "\n"


# Content


def has_text(block: Json) -> bool:
    """Is a block made of text?"""
    return block["type"] == "text" or "text" in block.get("resource", {})


def bytes_of(block: Json) -> bytes | None:
    """The bytes of an image, a sound or a blob; None for all else."""
    if block["type"] in ("image", "audio"):
        return b64decode(block["data"])
    blob = block.get("resource", {}).get("blob")
    return None if blob is None else b64decode(blob)


def shown(block: Json) -> str:
    """A content block as text: bytes are only mentioned."""
    held: Json = block.get("resource", block)
    data = bytes_of(block)
    if data is not None:
        return mentioned(held.get("mimeType"), len(data))
    if block["type"] == "resource_link":
        return line(f"{block['name']} <{block['uri']}>")
    if has_text(block):
        return str(held["text"])
    return json.dumps(block, ensure_ascii=False)


def mentioned(kind: str | None, size: int) -> str:
    """Bytes that are not shown."""
    return f"[{line(kind or 'application/octet-stream')}, {size} bytes]"


def result_text(result: Json, without: Json | None = None) -> str:
    """The result of a tool: its blocks, and its structured content only if no block has text."""
    blocks: list[Json] = result.get("content", [])
    text = "".join(terminated(shown(block)) for block in blocks if block is not without)
    if "structuredContent" in result and not any(has_text(block) for block in blocks):
        text += as_json(result["structuredContent"])
    return text


def messages_text(messages: list[Json]) -> str:
    """The messages of a prompt, each under its role."""
    return "\n".join(
        f"{line(message['role'])}:\n{terminated(shown(message['content']))}" for message in messages
    )


def terminated(text: str) -> str:
    """A text that ends its last line."""
    return text if text.endswith("\n") else text + "\n"


# Notifications


def notice(method: str, params: Json) -> str | None:
    """Progress or a log message in one line; None for what is of no interest here."""
    if method == "notifications/progress":
        total = "" if params.get("total") is None else f"/{_number(params['total'])}"
        told = f"progress {_number(params['progress'])}{total} {params.get('message', '')}"
        return record(told.rstrip())
    if method == "notifications/message":
        data: object = params["data"]
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        logger = f"{params['logger']}: " if "logger" in params else ""
        return record(f"{params['level']}: {logger}{text}")
    return None


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)
