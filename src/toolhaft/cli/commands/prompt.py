"""`toolhaft prompt TARGET NAME [ARG …]`: get a prompt."""

import argparse

from ..shared.arguments import split, texts
from ..shared.console import as_json
from ..shared.conversation import member
from ..shared.rendering import messages_text
from ..shared.server_session import Visit, conduct


def execute(options: argparse.Namespace) -> int:
    """Get a prompt and print its messages."""
    return conduct(options, _prompt)


async def _prompt(visit: Visit, options: argparse.Namespace) -> int:
    arguments = texts(split(options.arguments, visit.stdin))
    params = {"name": options.name, "arguments": arguments}
    result = await visit.talk.request("prompts/get", params)
    visit.write(as_json(result) if options.json else messages_text(member(result, "messages")))
    return 0
