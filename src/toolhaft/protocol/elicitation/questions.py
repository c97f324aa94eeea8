"""Questions to the client, and what becomes of them: an answer, a wait, or another round.

A question is put in the middle of a call. How it travels is for the era to decide; whether the
client said that it can answer is told here, for both.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Raw, Struct

from ...encoding.envelope import Id
from ...errors import ToolError, shown
from ...types.wire import Wire
from ..revisions import Revision

# So often a question is put before answers that do not fit make the call fail.
ATTEMPTS = 3
_FORMS = "elicitation.form"
# Capabilities whose members have names such as "io.modelcontextprotocol/ui".
_NAMED = ("extensions", "experimental")


class Unfit(Exception):
    """An answer that is not one to the question; the text says why."""


class Question(Struct, frozen=True):
    """A request of ours, which capabilities it needs, and how its result is read.

    `read` raises `Unfit` for a result that is no answer: then the question is put again."""

    method: str
    # Or the text of them, if they were sent before.
    params: Wire | Raw
    requires: tuple[str, ...]
    read: Callable[[bytes], Any]
    # What is sent to clients of a revision, if it depends on that more than the fields of a type
    # do. Raises `ToolError` if the revision cannot express it.
    for_revision: Callable[[Revision], Wire] | None = None

    def sent(self, revision: Revision) -> Wire | Raw:
        """The parameters for a client of this revision.

        Raises:
            ToolError: the revision cannot express the question.
        """
        return self.params if self.for_revision is None else self.for_revision(revision)


Questions: TypeAlias = Mapping[str, Question]


class Answered(Struct):
    """Everything is known already."""

    answers: dict[str, Any]


class Waiting(Struct):
    """Requests to send. Each answer comes under the id of its question."""

    ids: dict[str, Id]
    frames: list[bytes]


class Suspended(Struct):
    """These are to be asked in the answer to the call, which the client will then send again."""

    questions: dict[str, Question]


Decision: TypeAlias = Answered | Waiting | Suspended


def declares(capabilities: Mapping[str, Any], path: str) -> bool:
    """Did a client declare this capability, as in "elicitation.url"?"""
    if path == _FORMS:
        # "elicitation: {}" is how forms were declared before there was anything else.
        found = capabilities.get("elicitation")
        return isinstance(found, dict) and ("form" in found or "url" not in found)
    return _has(capabilities, path)


def _has(found: Any, path: str) -> bool:
    """Is there a member at this path? Names of extensions have dots of their own."""
    if not isinstance(found, Mapping):
        return False
    first, _, rest = path.partition(".")
    members = cast(Mapping[str, Any], found)
    if first in _NAMED and rest and isinstance(members.get(first), Mapping):
        named: Mapping[str, Any] = members[first]
        return rest in named or any(
            rest.startswith(f"{name}.") and _has(named[name], rest[len(name) + 1 :])
            for name in named
        )
    return first in members and (not rest or _has(members[first], rest))


def lacking(
    capabilities: Mapping[str, Any], revision: Revision, questions: Iterable[Question]
) -> list[str]:
    """What the questions need and the client, or its revision, does not have."""
    needed = dict.fromkeys(path for question in questions for path in question.requires)
    return [
        path for path in needed if path not in revision.askable or not declares(capabilities, path)
    ]


def can_express(revision: Revision, question: Question) -> bool:
    """Has the revision what it takes to put this question?"""
    try:
        question.sent(revision)
    except ToolError:
        return False
    return True


def required(paths: Iterable[str]) -> dict[str, Any]:
    """Capabilities as a client would declare them."""
    tree: dict[str, Any] = {}
    for path in paths:
        place = tree
        for key in path.split("."):
            place = place.setdefault(key, {})
    return tree


def valid_key(what: str, name: str, key: str) -> str:
    """A name by which something of a call is found again.

    Raises:
        TypeError: it is no text.
        ValueError: it is empty, or cannot be sent.
    """
    if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{what}: {name} is str, not {type(key).__name__}")
    if not key:
        raise ValueError(f"{what}: {name} must not be empty")
    if key != key.encode("utf-8", "replace").decode():
        raise ValueError(f"{what}: {name} cannot be sent as UTF-8: {key!a}")
    return key


class _Message(Struct):
    """What a user reads of a question."""

    message: str = ""


def unfit(question: Question, problem: Unfit) -> ToolError:
    """The error for a question that nobody answers as it should be."""
    return ToolError(
        f"the client has answered {_words(question)} {ATTEMPTS} times with what does not fit: "
        f"{problem}"
    )


def _words(question: Question) -> str:
    """A question as an error names it: by what it says, or what it is."""
    params = question.params
    if isinstance(params, Raw):
        message = msgspec.json.decode(params, type=_Message).message
    else:
        message = str(getattr(params, "message", ""))
    return shown(message) if message else question.method
