"""References to variables, as clients write them in entries: `${env:NAME}` and the like."""

import re
from collections.abc import Iterable, Mapping

from .clients import Client


def refers(value: str, client: Client) -> bool:
    """Does a value name a variable that this client looks up?"""
    return bool(client.reference and _pattern(client).search(value))


def resolved(
    env: Mapping[str, str], clients: Iterable[Client], environment: Mapping[str, str]
) -> dict[str, str]:
    """What a server is given by clients that look their references up in an environment.

    A variable that is not there stays as it is written.
    """
    found = dict(env)
    for pattern in {_pattern(client) for client in clients if client.reference}:
        for name, value in found.items():
            found[name] = pattern.sub(lambda at: environment.get(at[1], at[0]), value)
    return found


def _pattern(client: Client) -> re.Pattern[str]:
    before, _, after = client.reference.partition("NAME")
    return re.compile(f"{re.escape(before)}([A-Za-z_][A-Za-z0-9_]*){re.escape(after)}")
