"""Findings: what is wrong, how bad it is, what to do."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

# From bad to harmless.
LEVELS: Final = ("error", "warning", "note")


class Finding(Struct, frozen=True, omit_defaults=True):
    """One thing that a reviewer would say.

    An error: some clients cannot use the tool, or the server. A warning: a model or a person will
    have a hard time with it. A note: worth knowing.
    """

    level: str
    # What it is called in JSON and on the page of the rules.
    rule: str
    where: str
    what: str
    # What to do; empty if there is nothing to be done.
    advice: str = ""
    # Where it is known from.
    source: str = ""


def at_least(findings: Iterable[Finding], level: str) -> list[Finding]:
    """The findings of a level, and all that are worse; the worst come first."""
    shown = LEVELS[: LEVELS.index(level) + 1]
    return sorted(
        (each for each in findings if each.level in shown),
        key=lambda each: LEVELS.index(each.level),
    )


def counted(findings: Iterable[Finding]) -> dict[str, int]:
    """How many there are of each level."""
    found = list(findings)
    return {level: sum(each.level == level for each in found) for level in LEVELS}
