"""`toolhaft check TARGET`: review a server before its release."""

import argparse
import asyncio
import os
import textwrap
from typing import Any

import msgspec

from toolhaft_bridge.display import line

from ...client.failures import BadAnswer
from ...errors import McpError
from ..checking.findings import LEVELS, Finding, at_least, counted
from ..checking.rules import reviewed, tokens
from ..checking.startup import Start, start, started
from ..checking.stdio_listing import listed_after_handshake, listed_without_handshake, served
from ..checking.trial_calls import called, lifespan, lifespan_failure
from ..shared.console import as_json, complain, failed, show

FOUND_ERRORS = 1
WRONG_COMMAND = 2
_COLUMNS = 100


def execute(options: argparse.Namespace) -> int:
    """Print the findings; return 1 if there are errors."""
    if os.isatty(2):
        complain(f"loading {options.target} …", end="\r")
    try:
        begin = start(options.target, options.timeout)
        if begin.failed:
            return failed(WRONG_COMMAND, begin.failed)
        report = asyncio.run(asyncio.wait_for(_review(options, begin), options.timeout))
    except TimeoutError as error:
        late = str(error) or f"no answer within {options.timeout:g} seconds"
        return failed(WRONG_COMMAND, late)
    found: list[Finding] = report.pop("findings")
    shown = at_least(found, options.level)
    if options.json:
        findings = [msgspec.to_builtins(each) for each in shown]
        text = as_json({"target": options.target, **report, "findings": findings})
    else:
        text = rendered(options.target, shown, options.level)
    show(text, end="")
    return FOUND_ERRORS if report["found"]["error"] else 0


async def _review(options: argparse.Namespace, begin: Start) -> dict[str, Any]:
    found: list[Finding] = []
    listing: dict[str, Any] = {"server": {}, "tools": []}
    async with served(options.target) as client:
        try:
            listing = await listed_without_handshake(client)
            before = await listed_after_handshake(client)
            found += await lifespan(client)
            if options.call:
                found += await called(client, listing)
            found += reviewed(listing, before)
            found += started(begin, client.first_answer)
        except (BadAnswer, McpError) as error:
            words = str(error.message if isinstance(error, McpError) else error)
            advice = "see stderr of toolhaft run"
            found += await lifespan_failure(client) or [
                Finding("error", "protocol", "server", words, advice)
            ]
    return {
        "server": listing["server"],
        "tools": len(listing["tools"]),
        "tokens": tokens(listing["tools"]),
        "start_seconds": round(client.first_answer, 3),
        "found": counted(found),
        "findings": found,
    }


def rendered(target: str, shown: list[Finding], level: str) -> str:
    """Format findings as text, the worst first; equal findings are grouped."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for each in shown:
        groups.setdefault((each.level, each.what, each.advice), []).append(each.where)
    lines: list[str] = []
    for (badness, what, advice), places in groups.items():
        where = places[0] if len(places) == 1 else f"{len(places)} places"
        lines += _wrapped(f"{badness}: {where}: {what}")
        lines += _wrapped(f"-> {advice}", indent="    ") if advice else []
        lines += [f"    {line(place)}" for place in places if len(places) > 1]
    numbers = counted(shown)
    counts = [_count(numbers[each], each) for each in LEVELS[: LEVELS.index(level) + 1]]
    return "\n".join([*lines, f"{target}: {', '.join(counts)}"]) + "\n"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        line(text),
        _COLUMNS,
        initial_indent=indent,
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}" if number == 1 else f"{number or 'no'} {noun}s"
