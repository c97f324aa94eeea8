"""`toolhaft read TARGET URI`: read a resource."""

import argparse
from base64 import b64decode
from typing import Any

from ..shared.console import as_json
from ..shared.conversation import member
from ..shared.rendering import mentioned, terminated
from ..shared.server_session import Visit, complain, conduct


def execute(options: argparse.Namespace) -> int:
    """Print a resource: its exact bytes, but on a terminal only its text."""
    return conduct(options, _read)


async def _read(visit: Visit, options: argparse.Namespace) -> int:
    result = await visit.talk.request("resources/read", {"uri": options.uri})
    if options.json:
        visit.write(as_json(result), options.output)
        return 0
    contents = member(result, "contents")
    if options.output is None and visit.for_people:
        _show(visit, contents)
        return 0
    visit.write(
        b"".join(_bytes(each, several=len(contents) > 1) for each in contents), options.output
    )
    return 0


def _show(visit: Visit, contents: list[dict[str, Any]]) -> None:
    for each in contents:
        if "text" in each:
            visit.write(terminated(each["text"]))
        else:
            size = len(b64decode(each["blob"]))
            note = mentioned(each.get("mimeType"), size)
            complain(f"{note}; -o FILE writes them to a file\n")


def _bytes(contents: dict[str, Any], *, several: bool) -> bytes:
    """Return the bytes of one item; among several, a text gets a final newline."""
    if "text" not in contents:
        return b64decode(contents["blob"])
    text: str = contents["text"]
    return (terminated(text) if several else text).encode()
