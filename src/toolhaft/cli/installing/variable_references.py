"""References to environment variables in entries, such as `${env:NAME}`."""

import re
from collections.abc import Iterable, Mapping

from .clients import Client


def refers(value: str, client: Client) -> bool:
    """Test whether a value contains a reference in the syntax of a client."""
    return bool(client.reference and _pattern(client).search(value))


def resolved(
    env: Mapping[str, str], clients: Iterable[Client], environment: Mapping[str, str]
) -> dict[str, str]:
    """Replace the references in values by variables of an environment, as the clients do.

    A reference to a variable that is not set stays as it is.
    """
    found = dict(env)
    for pattern in {_pattern(client) for client in clients if client.reference}:
        for name, value in found.items():
            found[name] = pattern.sub(lambda at: environment.get(at[1], at[0]), value)
    return found


def _pattern(client: Client) -> re.Pattern[str]:
    before, _, after = client.reference.partition("NAME")
    return re.compile(f"{re.escape(before)}([A-Za-z_][A-Za-z0-9_]*){re.escape(after)}")
