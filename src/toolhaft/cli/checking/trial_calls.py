"""Calls that a review may make: of tools that only read and need nothing, and reads of resources.

Only if it is asked for: a tool that is said to be read-only may still cost something.
"""

import asyncio
import re
from typing import Any

from ...client.failures import BadAnswer
from ...client.json_shapes import as_object
from ...client.responses import entries_of
from ...errors import McpError
from ...features.results.rendering import WrongResult
from ...schema.validation.validator import problems
from .findings import Finding
from .stdio_listing import Client, Json

_PATIENCE = 10.0
# How failures are marked, in answers and in the log alike.
_ERROR = re.compile(r"\(error \w+\)")
_LOOKS = 50
_A_MOMENT = 0.02
# A name that no tool has. A call of it waits for the lifespan, and then is refused.
_NOBODY = "toolhaft-check--no-such-tool"
_INTERNAL_ERROR = -32603
# How the log begins to say why.
_LIFESPAN_FAILED = "the lifespan failed: "


async def lifespan(client: Client) -> list[Finding]:
    """Does the lifespan begin? Lists do not wait for it, calls do."""
    try:
        await asyncio.wait_for(client.request("tools/call", {"name": _NOBODY}), _PATIENCE)
    except McpError as error:
        if error.code == _INTERNAL_ERROR:
            reason = await _said(client, _LIFESPAN_FAILED)
            return [_not_served(reason or error.message)]
    except TimeoutError:
        words = f"no call is answered within {_PATIENCE:g} seconds"
        return [Finding("error", "lifespan", "server", words, "let the lifespan begin sooner")]
    return []


async def lifespan_failure(client: Client) -> list[Finding]:
    """The finding for a server that has ended since its lifespan failed; none if it has not."""
    reason = await _said(client, _LIFESPAN_FAILED) if client.has_ended else None
    return [_not_served(reason)] if reason else []


def _not_served(reason: str) -> Finding:
    words = f"no call is answered: {reason}"
    advice = "see stderr of toolhaft run; most likely the lifespan fails"
    return Finding("error", "lifespan", "server", words, advice)


async def called(client: Client, listing: Json) -> list[Finding]:
    """Call, read and get what can be had without arguments."""
    found: list[Finding] = []
    for tool in listing["tools"]:
        if _is_harmless(tool):
            found += await _call(client, tool)
    for resource in listing["resources"]:
        where = f"resource {resource['uri']}"
        result = await _asked(client, where, "resources/read", {"uri": resource["uri"]}, found)
        if result is not None and not entries_of(result, "resources/read", "contents"):
            words = "it is empty: reading it gives no contents"
            found.append(Finding("warning", "empty", where, words, "return something"))
    for prompt in listing["prompts"]:
        if not any(each.get("required") for each in prompt.get("arguments", [])):
            where = f"prompt {prompt['name']}"
            result = await _asked(client, where, "prompts/get", {"name": prompt["name"]}, found)
            if result is not None and not entries_of(result, "prompts/get", "messages"):
                words = "it is empty: it gives no messages"
                found.append(Finding("warning", "empty", where, words, "return a message"))
    return found


def _is_harmless(tool: Json) -> bool:
    hints: Json = tool.get("annotations", {})
    return hints.get("readOnlyHint") is True and not tool["inputSchema"].get("required")


async def _call(client: Client, tool: Json) -> list[Finding]:
    where = f"tool {tool['name']}"
    found: list[Finding] = []
    params: Json = {"name": tool["name"], "arguments": {}}
    result = await _asked(client, where, "tools/call", params, found)
    if result is None or result.get("resultType") == "input_required":
        return found
    text = _text(result)
    if result.get("isError") and WrongResult.for_client in text:
        words = f"its result does not fit its schema: {await _logged(client, text)}"
        return [Finding("error", "result", where, words, "correct one of them")]
    if result.get("isError"):
        words = f"it fails without arguments: {text}"
        advice = "require what it needs"
        return [Finding("warning", "call", where, words, advice)]
    if "outputSchema" not in tool:
        return []
    if "structuredContent" not in result:
        words = "it has a schema for its result, and sends no structured content"
        return [Finding("error", "result", where, words, "return what it says")]
    wrong = problems(result["structuredContent"], tool["outputSchema"], where="result")
    if wrong:
        words = f"its result does not fit its schema: {wrong[0]}"
        return [Finding("error", "result", where, words, "correct one of them")]
    return []


async def _logged(client: Client, failure: str) -> str:
    """What the server says on stderr of a failure that it does not explain to its clients."""
    found = _ERROR.search(failure)
    return (found and await _said(client, found[0])) or failure


async def _said(client: Client, words: str) -> str | None:
    """The line of the log that has these words, which may be yet to come."""
    for _ in range(_LOOKS):
        for line in client.said:
            if words in line:
                return line.partition(": ERROR: ")[2].strip() or line.strip()
        await asyncio.sleep(_A_MOMENT)
    return None


def _text(result: Json) -> str:
    texts: list[str] = []
    for each in entries_of(result, "tools/call", "content"):
        block = as_object(each) or {}
        if block.get("type") != "text":
            continue
        if not isinstance(block.get("text"), str):
            raise BadAnswer(
                f"tools/call: the server sent a text block without a text: {block!r:.200}"
            )
        texts.append(block["text"])
    return " ".join(texts)[:200]


async def _asked(
    client: Client, where: str, method: str, params: Json, found: list[Finding]
) -> Json | None:
    """The result; or a finding, if there is none."""
    try:
        result: Any = await asyncio.wait_for(client.request(method, params), _PATIENCE)
    except McpError as error:
        found.append(
            Finding("error", "call", where, f"{method} fails: {error.message}", "repair it")
        )
        return None
    except TimeoutError:
        words = f"no answer to {method} within {_PATIENCE:g} seconds"
        found.append(Finding("warning", "call", where, words, "answer sooner, or tell of progress"))
        return None
    return result  # type: ignore[no-any-return]
