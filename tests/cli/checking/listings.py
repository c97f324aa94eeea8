"""What servers list, as literals, and what `toolhaft check` says of it."""

from typing import Any

from toolhaft.cli.checking.rules import reviewed

Json = dict[str, Any]


OBJECT: Json = {"type": "object", "properties": {}, "additionalProperties": False}


def listing(**members: Any) -> Json:
    empty: Json = {"resources": [], "templates": [], "prompts": [], "tools": []}
    server = {"name": "s", "version": "1.0.0"}
    return {"server": server, "instructions": "Words.", **empty, **members}


def tool(**members: Any) -> Json:
    return {
        "name": "find",
        "description": "Find something.",
        "inputSchema": OBJECT,
        "annotations": {"readOnlyHint": True},
        **members,
    }


def found(before: Json | None = None, **members: Any) -> list[tuple[str, str, str]]:
    """What is said, but for what it costs, which is always said."""
    now = listing(**members)
    findings = reviewed(now, before or now)
    return [(each.level, each.rule, each.where) for each in findings if each.rule != "cost"]


def taking(schema: Json | bool, name: str = "a") -> Json:
    described = {**schema, "description": "words"} if isinstance(schema, dict) else schema
    return tool(inputSchema={**OBJECT, "properties": {name: described}, "required": [name]})
