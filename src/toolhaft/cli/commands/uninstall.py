"""`toolhaft uninstall CLIENT… NAME`: remove a server from the configuration of clients."""

import argparse
from collections.abc import Sequence

from ..installing.change_plan import (
    WrongWords,
    carry_out,
    clients_of,
    worked_out,
)
from ..installing.clients import CLIENTS, Client
from ..installing.editors.text_edits import Unclear
from ..installing.exit_codes import CANNOT_CHANGE, WRONG_COMMAND, failed
from ..installing.installer import Desk, Step
from ..installing.machine import this_machine


def execute(options: argparse.Namespace) -> int:
    """Plan the changes for all clients, then apply or show them."""
    machine = this_machine()
    try:
        if not options.words or options.words[-1] in CLIENTS:
            raise WrongWords("name the entry after the clients, as in toolhaft uninstall zed notes")
        *words, name = options.words
        desk = Desk(machine)
        clients = _clients(desk, words, options)

        def work(desk: Desk, client: Client) -> Step:
            return desk.uninstall(
                client, name, scope=options.scope, via=options.via, force=options.force
            )

        steps = worked_out(desk, clients, options.scope, work, all_of_them=options.all)
        carry_out(desk, steps, dry_run=options.dry_run)
    except WrongWords as error:
        return failed(WRONG_COMMAND, str(error))
    except Unclear as error:
        return failed(CANNOT_CHANGE, str(error))
    return 0


def _clients(desk: Desk, words: list[str], options: argparse.Namespace) -> Sequence[Client]:
    """Return the named clients; for `--all`, every client that has the entry.

    With `--all` a client need not be installed: a project may contain its configuration.
    """
    if not options.all:
        return clients_of(words, None)
    name = options.words[-1]
    holding = [
        client
        for client in clients_of(words, list(CLIENTS.values()))
        if (options.scope == "user" or client.project)
        and name in desk.see(client, options.scope).entries
    ]
    if not holding:
        raise Unclear(f"no client has an entry {name!r}")
    return holding
