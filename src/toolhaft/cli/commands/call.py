"""`toolhaft call TARGET TOOL [ARG …]`: call a tool."""

import argparse
from typing import Any

from ..shared.arguments import Arguments, BadArgument, Word, read, split
from ..shared.console import as_json
from ..shared.question_prompts import hint
from ..shared.rendering import bytes_of, result_text, terminated
from ..shared.server_session import TOOL_FAILED, Visit, complain, conduct


def execute(options: argparse.Namespace) -> int:
    """Call a tool and print its result."""
    return conduct(options, _call)


async def _call(visit: Visit, options: argparse.Namespace) -> int:
    if options.tool is None:
        tools = await visit.talk.all_of("tools/list", "tools")
        names = ", ".join(str(each.get("name")) for each in tools)
        raise BadArgument(f"say which tool: {names}" if names else "there are no tools")
    arguments = await _arguments(visit, options.tool, split(options.arguments, visit.stdin))
    params = {"name": options.tool, "arguments": arguments}
    result = await visit.talk.request("tools/call", params)
    is_error = bool(result.get("isError"))
    if options.json:
        visit.write(as_json(result), options.output)
    elif is_error:
        text = result_text(result)
        complain(terminated(text.rstrip("\n") + hint(text)) if hint(text) else text)
    else:
        _write(visit, result, options.output)
    return TOOL_FAILED if is_error else 0


async def _arguments(visit: Visit, tool: str, words: list[Word]) -> Arguments:
    schema: dict[str, Any] = {}
    # Over HTTP, some arguments are mirrored in headers: the input schema names them.
    if visit.is_http or any(word.is_text for word in words):
        # An unknown tool has no schema here; the call then fails with the server's own error.
        for listed in await visit.talk.all_of("tools/list", "tools"):
            if listed.get("name") == tool:
                schema = listed.get("inputSchema", {})
    return read(words, schema)


def _write(visit: Visit, result: dict[str, Any], path: str | None) -> None:
    if path is None:
        visit.write(result_text(result))
        return
    for block in result.get("content", []):
        data = bytes_of(block)
        if data is not None:
            visit.write(data, path)
            visit.write(result_text(result, without=block))
            return
    visit.write(result_text(result), path)
