"""What is to be said of what a server lists."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from ...schema.validation.schema_parts import is_object
from . import client_rules
from .client_rules import Limit
from .findings import Finding
from .schemas import arguments, inner, result, result_before

Json: TypeAlias = dict[str, Any]

_BYTES_PER_TOKEN = 4
_DEAR = 20_000
_DEAREST = 3


def reviewed(listing: Json, before: Json) -> list[Finding]:
    """All findings.

    Args:
        listing: what is listed in the newest revision: `server`, `instructions`, `tools`,
            `resources`, `templates` and `prompts`, as the protocol has them.
        before: the same in a revision with a handshake.
    """
    tools: list[Json] = listing["tools"]
    return [
        *_server(listing),
        *_number(tools),
        *(each for tool in tools for each in _tool(tool, listing["server"].get("name", ""))),
        *_before(before["tools"]),
        *_twins("tool", tools),
        *_twins("prompt", listing["prompts"]),
        *_strict(tools),
        *_cost(tools),
        *(each for resource in listing["resources"] for each in _resource("resource", resource)),
        *(each for resource in listing["templates"] for each in _resource("template", resource)),
        *(each for prompt in listing["prompts"] for each in _prompt(prompt)),
        *_eras(listing, before),
    ]


def tokens(value: object) -> int:
    """About how many tokens a model reads for this."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)


# The server


def _server(listing: Json) -> Iterator[Finding]:
    if listing["server"].get("version", "0.0.0") == "0.0.0":
        yield Finding(
            "note", "version", "server", "it has no version", 'Server("…", version="1.0.0")'
        )
    if not listing.get("instructions"):
        words = "it has no instructions, so a model learns of it from its tools alone"
        yield Finding("note", "instructions", "server", words, 'Server("…", instructions="…")')
    if not any(listing[name] for name in ("tools", "resources", "templates", "prompts")):
        yield Finding("error", "nothing", "server", "it offers nothing", "register a tool")


def _number(tools: list[Json]) -> Iterator[Finding]:
    limit = _exceeded(len(tools), client_rules.TOOLS)
    if limit:
        words = f"{len(tools)} tools: {limit.words}"
        advice = "offer fewer, or several servers"
        yield Finding(limit.level, "tools", "server", words, advice, limit.source)


def _exceeded(number: float, limits: Iterable[Limit]) -> Limit | None:
    return next((limit for limit in limits if number > limit.most), None)


def _eras(listing: Json, before: Json) -> Iterator[Finding]:
    keys = {"tools": "name", "prompts": "name", "resources": "uri", "templates": "uriTemplate"}
    for member, key in keys.items():
        names, older = ({each[key] for each in side[member]} for side in (listing, before))
        for name in sorted(names ^ older):
            where = "with" if name in older else "without"
            words = f"it is listed to clients {where} a handshake only"
            yield Finding("warning", "eras", f"{member[:-1]} {name}", words, "see your middleware")


# Tools


def _tool(tool: Json, server: str) -> Iterator[Finding]:
    where = f"tool {tool['name']}"
    yield from _name(where, tool["name"], server)
    yield from _session(where, tool)
    yield from _texts(where, tool)
    yield from _parameters(where, tool["inputSchema"])
    yield from _hints(where, tool.get("annotations", {}))
    yield from arguments(where, tool["inputSchema"])
    if "outputSchema" in tool:
        yield from result(where, tool["outputSchema"])


def _name(where: str, name: str, server: str) -> Iterator[Finding]:
    for rule in client_rules.NAMES:
        if not rule.pattern.fullmatch(name):
            yield Finding(rule.level, "tool-name", where, rule.words, "rename it", rule.source)
    if server and len(server) + len(name) > client_rules.CURSOR_NAMES:
        words = (
            f"its name and the server's have {len(server) + len(name)} characters: Cursor leaves "
            f"out what has more than {client_rules.CURSOR_NAMES}"
        )
        source = client_rules.CURSOR_NAMES_SOURCE
        yield Finding("warning", "tool-name-length", where, words, "shorten one of them", source)


def _session(where: str, tool: Json) -> Iterator[Finding]:
    if tool.get("_meta", {}).get("toolhaft/needsSession"):
        words = "it needs a session, which clients of the newest revision have none of"
        advice = 'serve it with sessions="stateful", where such clients fall back to a handshake'
        yield Finding("note", "session", where, words, advice)


def _texts(where: str, tool: Json) -> Iterator[Finding]:
    description = str(tool.get("description", "")).strip()
    if not description:
        words = "it has no description: a model has only the name to go by"
        yield Finding("error", "tool-description", where, words, "write a docstring")
    limit = _exceeded(len(description), client_rules.DESCRIPTION)
    if limit:
        words = f"its description has {len(description)} characters: {limit.words}"
        advice = "move details to the parameters, or to a resource"
        yield Finding(limit.level, "tool-description-length", where, words, advice, limit.source)


def _parameters(where: str, schema: Json) -> Iterator[Finding]:
    for name, each in schema.get("properties", {}).items():
        if is_object(each) and not str(each.get("description", "")).strip():
            words = "it has no description"
            advice = 'Annotated[…, "what it is for"], or a line for it in the docstring'
            yield Finding(
                "warning", "parameter-description", f"{where}, parameter {name}", words, advice
            )


def _hints(where: str, hints: Json) -> Iterator[Finding]:
    read_only, destructive = hints.get("readOnlyHint"), hints.get("destructiveHint")
    if read_only and destructive:
        words = "it is said to be read-only, and destructive"
        yield Finding("warning", "hints", where, words, "say one of them")
    elif read_only is None and destructive is None:
        words = "nothing is said of what it does, so clients ask before each call"
        yield Finding("note", "hints", where, words, "read_only=True, or destructive=…")


def _before(tools: list[Json]) -> Iterator[Finding]:
    for tool in tools:
        if "outputSchema" in tool:
            yield from result_before(f"tool {tool['name']}", tool["outputSchema"])


def _twins(noun: str, entries: list[Json]) -> Iterator[Finding]:
    """Things that nobody can tell apart."""
    for member in ("title", "description"):
        named: defaultdict[str, list[str]] = defaultdict(list)
        for entry in entries:
            said = entry.get(member) or (
                entry.get("annotations", {}).get("title") if member == "title" else None
            )
            if said:
                named[said].append(entry["name"])
        for names in named.values():
            if len(names) > 1:
                words = f"the same {member} as {', '.join(names[1:])}"
                advice = "say what is different"
                yield Finding("warning", f"{noun}-twins", f"{noun} {names[0]}", words, advice)


def _strict(tools: list[Json]) -> Iterator[Finding]:
    """OpenAI's strict mode is optional, so this is one note for all."""
    loose = [tool["name"] for tool in tools if _is_loose(tool["inputSchema"])]
    if loose:
        words = (
            f"{len(loose)} of {len(tools)} tools do not fit OpenAI's strict mode, which wants all "
            f"parameters required and no others allowed: {', '.join(loose[:3])}"
            f"{', …' if len(loose) > 3 else ''}"
        )
        source = "https://platform.openai.com/docs/guides/structured-outputs"
        yield Finding("note", "strict", "server", words, "", source)


def _is_loose(schema: Json) -> bool:
    return any(
        set(each.get("required", ())) != set(each["properties"])
        or each.get("additionalProperties") is not False
        for _, each in inner(schema)
        if each.get("properties")
    )


def _cost(tools: list[Json]) -> Iterator[Finding]:
    if not tools:
        return
    total = tokens(tools)
    dearest = sorted(tools, key=tokens, reverse=True)[:_DEAREST]
    named = ", ".join(f"{tool['name']} {tokens(tool):,}" for tool in dearest)
    words = (
        f"tools/list costs a model about {total:,} tokens (an estimate, at 4 bytes each): {named}"
    )
    if total > _DEAR:
        advice = "shorten descriptions, drop output schemas, offer fewer tools"
        yield Finding("warning", "cost", "server", words, advice)
    else:
        yield Finding("note", "cost", "server", words)


# Resources and prompts


def _resource(noun: str, resource: Json) -> Iterator[Finding]:
    where = f"{noun} {resource.get('uri') or resource['uriTemplate']}"
    if not resource.get("description"):
        words = "it has no description"
        yield Finding("warning", "resource-description", where, words, "write a docstring")
    if not resource.get("mimeType"):
        words = "its type is not told"
        yield Finding("note", "resource-type", where, words, 'mime_type="…"')


def _prompt(prompt: Json) -> Iterator[Finding]:
    where = f"prompt {prompt['name']}"
    if not prompt.get("description"):
        words = "it has no description"
        yield Finding("warning", "prompt-description", where, words, "write a docstring")
    for argument in prompt.get("arguments", []):
        if not argument.get("description"):
            words = "it has no description, and a person has to fill it in"
            place = f"{where}, argument {argument['name']}"
            advice = 'Annotated[str, "what it is for"]'
            yield Finding("note", "prompt-argument", place, words, advice)
