"""What the pytest plugin needs to know: which revisions a marker names, and what a target is."""

import os
import sys
from collections.abc import Sequence

from ..protocol.revisions import NEWEST_HANDSHAKE, SUPPORTED
from ..server.server import Server
from .client import Client

_ERAS = {"handshake": [NEWEST_HANDSHAKE.date], "stateless": SUPPORTED[:1], "all": SUPPORTED}


class BadEra(ValueError):
    """A name that is neither of an era nor of a revision."""


def revisions(eras: Sequence[str]) -> dict[str, str]:
    """Revisions by the names that a report shows.

    Raises:
        BadEra: there is no such era.
    """
    if not eras:
        raise BadEra("the marker eras names none; try @pytest.mark.eras('handshake', 'stateless')")
    found: dict[str, str] = {}
    for era in eras:
        if era in _ERAS:
            dates = _ERAS[era]
            found |= {era if len(dates) == 1 else date: date for date in dates}
        elif era in SUPPORTED:
            found[era] = era
        else:
            known = ", ".join([*_ERAS, *SUPPORTED])
            raise BadEra(f"there is no era {era!r}; there are {known}")
    return found


def client_of(target: object, revision: str | None) -> Client:
    """A client, not open yet, of whatever this is: a server, a target, or a client."""
    if isinstance(target, Client):
        return target if revision is None else target.speaking(revision)
    if isinstance(target, Server):
        return Client(target, revision)
    if not isinstance(target, str):
        raise TypeError(
            f"a server to test is a Server, a Client or a target, not {type(target).__name__}"
        )
    if target.startswith(("http://", "https://")):
        return Client.http(target, revision=revision)
    if " " in target and not _is_path(target):
        return Client.stdio(target, revision=revision)
    return Client.stdio([sys.executable, "-m", "toolhaft", "run", target], revision=revision)


def _is_path(target: str) -> bool:
    """Is it one file or folder, with or without the name of a server in it?"""
    return any(os.path.exists(each) for each in (target, target.rpartition(":")[0]))
