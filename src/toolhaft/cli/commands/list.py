"""`toolhaft list TARGET [WHAT …]`: list tools, resources, templates and prompts."""

import argparse
import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import McpError
from ..option_values import LISTS
from ..shared.console import as_json
from ..shared.rendering import paragraph, prompt_entry, resource_entry, section, tool_entry
from ..shared.server_session import Visit, conduct

# Timeout of a completion request, in seconds.
_PATIENCE = 1.0


class _List(NamedTuple):
    """A list of the protocol: capability, method, member of the result, formatter of an entry."""

    capability: str
    method: str
    member: str
    entry: Callable[[dict[str, Any]], str]


_LISTS = {
    "tools": _List("tools", "tools/list", "tools", tool_entry),
    "resources": _List("resources", "resources/list", "resources", resource_entry),
    "templates": _List(
        "resources", "resources/templates/list", "resourceTemplates", resource_entry
    ),
    "prompts": _List("prompts", "prompts/list", "prompts", prompt_entry),
}


def execute(options: argparse.Namespace) -> int:
    """Print the selected lists."""
    return conduct(options, _list)


async def _list(visit: Visit, options: argparse.Namespace) -> int:
    wanted: list[str] = options.only or list(LISTS)
    offered = visit.talk.capabilities()
    found = {
        name: await visit.talk.all_of(row.method, row.member) if row.capability in offered else []
        for name, row in _LISTS.items()
        if name in wanted
    }
    instructions = "" if options.only else visit.talk.instructions()
    if options.json:
        listed: dict[str, Any] = {"instructions": instructions} if instructions else {}
        listed |= {_LISTS[name].member: entries for name, entries in found.items()}
        visit.write(as_json(listed))
        return 0
    if "completions" in offered and "prompts" in found:
        found["prompts"] = [await _with_values(visit, prompt) for prompt in found["prompts"]]
    sections = [
        section(name, [_LISTS[name].entry(entry) for entry in entries])
        for name, entries in found.items()
        if entries
    ]
    if instructions:
        sections.insert(0, section("instructions", [paragraph(instructions)]))
    visit.write("\n".join(sections) or f"no {', no '.join(found)}\n")
    return 0


async def _with_values(visit: Visit, prompt: dict[str, Any]) -> dict[str, Any]:
    """Add to the arguments of a prompt the values that the server suggests for them."""
    arguments = [
        {**argument, "values": await _values(visit, prompt["name"], argument["name"])}
        for argument in prompt.get("arguments", [])
    ]
    return {**prompt, "arguments": arguments}


async def _values(visit: Visit, prompt: str, argument: str) -> list[str]:
    params = {
        "ref": {"type": "ref/prompt", "name": prompt},
        "argument": {"name": argument, "value": ""},
    }
    try:
        async with asyncio.timeout(_PATIENCE):
            result = await visit.talk.request("completion/complete", params)
    except (McpError, TimeoutError):
        return []  # the list is useful without suggestions
    values: list[str] = result["completion"]["values"]
    return values
