"""Common parts of `install` and `uninstall`: selection of clients, planning, applying."""

import difflib
import os
from collections.abc import Callable, Sequence
from typing import TypeAlias

from . import files
from .clients import CLIENTS, Client
from .editors.text_edits import Unable, Unclear
from .exit_codes import say
from .installer import Desk, Step

Work: TypeAlias = Callable[[Desk, Client], Step]


class WrongWords(Exception):
    """A command line that is incomplete or contradictory; the message names the problem."""


def clients_of(words: Sequence[str], everybody: Sequence[Client] | None) -> Sequence[Client]:
    """Return the clients that the words of a command line name.

    Args:
        everybody: the clients of `--all`; None without `--all`.

    Raises:
        WrongWords: a client is unknown, or none is named.
    """
    if everybody is not None:
        if words:
            raise WrongWords(f"--all stands for all clients, so {words[0]!r} says nothing more")
        if not everybody:
            raise WrongWords("no client was found on this machine; toolhaft clients lists them")
        return everybody
    for word in words:
        if word not in CLIENTS:
            near = difflib.get_close_matches(word, CLIENTS, n=1, cutoff=0.4)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise WrongWords(f"{word!r} is no client{hint} There are {', '.join(CLIENTS)}")
    if not words:
        raise WrongWords(f"name a client, or --all; there are {', '.join(CLIENTS)}")
    return [CLIENTS[word] for word in dict.fromkeys(words)]


def worked_out(
    desk: Desk, clients: Sequence[Client], scope: str, work: Work, *, all_of_them: bool
) -> list[Step]:
    """Plan the steps for all clients, so that none is applied unless all are possible.

    With `all_of_them`, clients that do not support the change are skipped.

    Raises:
        Unclear: a step is not possible, or no client is left.
    """
    steps: list[Step] = []
    known: dict[str, str] = {}
    for client in clients:
        try:
            path = os.path.realpath(desk.where(client, scope))
            if path in known:
                say(f"{client.id}: reads the same file as {known[path]}")
                continue
            step = work(desk, client)
        except Unable as error:
            if not all_of_them:
                raise
            say(f"{client.id}: left out, since {error}")
            continue
        known[path] = client.id
        steps.append(step)
    if not steps:
        raise Unclear("no client that is there can take this")
    return steps


def carry_out(desk: Desk, steps: Sequence[Step], *, dry_run: bool) -> None:
    """Apply all steps and report them, or show what they would change."""
    for step in steps:
        if dry_run:
            say(step.shown(), end="")
            continue
        remark = desk.do(step)
        say(f"{step.client.id}: {step.summary}")
        if remark:
            say(f"  {remark}")
        backup = files.backup_of(step.path)
        if step.changes and step.undo is not None:
            if backup.exists():
                say(f"  before: {backup}")
            say(f"  next: {step.client.after}")
