"""A call over several rounds: what was asked and answered so far.

Nothing of a call stays on the server between two rounds. What must not be asked again travels with
the client, as `requestState` (`sealing.py`), and is looked up here when the function, which runs
again from its start, asks again. An answer counts for the question it was given to: a question that
reads differently now is asked anew.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Raw, Struct

from ..errors import ToolError
from ..jsonrpc import encode, is_null
from .digests import digest
from .questions import ATTEMPTS, Question, Questions, Unfit, unfit

# Clients give up after ten rounds, without saying which question was one too many.
LAST_ROUND: Final = 10


# Stands for an answer that has not come: those that have are objects.
_NONE = Raw(b"null")


class Entry(Struct, array_like=True):
    """One question: what it said, what the answer was, and how often there was none that fits."""

    question: str
    answer: Raw = _NONE
    misses: int = 0

    @property
    def is_open(self) -> bool:
        """Is there no answer yet?"""
        return is_null(self.answer)


class Asked(Struct, array_like=True):
    """A question that a function has left to us to put: as it is sent, what it needs, and whether
    its answer is the one field of a form."""

    method: str
    params: Raw
    requires: tuple[str, ...]
    single: bool = False


class Pages(Struct, array_like=True):
    """What is kept from round to round."""

    round: int
    entries: dict[str, Entry]
    # What steps gave; or, where the client could read that, where it is kept.
    steps: dict[str, Raw] = {}
    kept: dict[str, str] = {}
    # Of functions that handle rounds themselves: what they asked, and what they want to know then.
    asked: dict[str, Asked] = {}
    state: Raw = _NONE


class Journal:
    """The questions of one call. A round begins with what the earlier ones have left."""

    __slots__ = (
        "_counts", "_given", "asked", "entries", "kept", "pending", "round", "state", "steps",
    )  # fmt: skip

    def __init__(
        self, pages: Pages | None = None, given: Mapping[str, bytes] | None = None
    ) -> None:
        self.round = 1 if pages is None else pages.round + 1
        self.entries: dict[str, Entry] = {} if pages is None else dict(pages.entries)
        # What was open at the end of the last round, and has not been asked for in this one.
        self.pending = {key for key, entry in self.entries.items() if entry.is_open}
        self.steps: dict[str, Raw] = {} if pages is None else pages.steps
        self.kept: dict[str, str] = {} if pages is None else pages.kept
        self.asked: dict[str, Asked] = {} if pages is None else pages.asked
        self.state = _NONE if pages is None else pages.state
        self._given = dict(given or {})
        self._counts: dict[str, int] = {}

    def pages(self) -> Pages:
        """What the next round has to know."""
        return Pages(self.round, self.entries, self.steps, self.kept, self.asked, self.state)

    def look_up(self, questions: Questions) -> tuple[dict[str, Any], dict[str, Question]]:
        """The answers that are known, by the names they were asked for, and by the names they will
        have on the wire the questions that are still open.

        Raises:
            ToolError: one was answered too often with what does not fit, or never reads the same.
        """
        answers: dict[str, Any] = {}
        still_open: dict[str, Question] = {}
        for name, question in questions.items():
            key = self.key(name)
            raw = self._answer(key, question)
            if raw is None:
                still_open[key] = question
                continue
            try:
                answers[name] = question.read(raw)
            except Unfit as problem:
                self._miss(key, unfit(question, problem))
                still_open[key] = question
        return answers, still_open

    def reopen(self, names: Iterable[str]) -> None:
        """Forget the answers to these, which are to be asked once more."""
        for name in names:
            for known in (self.entries, self._given, self._counts):
                known.pop(name, None)

    def key(self, name: str) -> str:
        """A name that was used before gets a number, and so does what has no name."""
        count = self._counts[name] = self._counts.get(name, 0) + 1
        if not name:
            return f"question-{count}"
        return name if count == 1 else f"{name}#{count}"

    def _answer(self, key: str, question: Question) -> bytes | None:
        self.pending.discard(key)
        mark = digest(encode((question.method, question.params)))
        entry = self.entries.get(key)
        given = self._given.get(key)
        if entry is None:  # an answer to what nobody has asked yet is as good as any
            entry = self.entries[key] = Entry(mark)
        elif entry.question != mark:
            was_answered = not entry.is_open or given is not None
            entry.question, entry.answer = mark, _NONE
            if was_answered:
                self._miss(key, _changing(key))
            return None
        if entry.is_open and given is not None:
            entry.answer = Raw(given)
        return None if entry.is_open else bytes(entry.answer)

    def _miss(self, key: str, error: ToolError) -> None:
        """An answer that is of no use: it is asked for again, but not for ever."""
        entry = self.entries[key]
        entry.answer = _NONE
        entry.misses += 1
        self._given.pop(key, None)
        if entry.misses >= ATTEMPTS:
            raise error


def _changing(key: str) -> ToolError:
    return ToolError(
        f"the question {key!r} reads differently each time it is asked, so that no answer is one "
        "to it; ask what does not depend on time or chance, or record that with ctx.step(…)"
    )


def too_many_rounds() -> ToolError:
    """The error for a call that has asked too often."""
    return ToolError(
        f"this call has asked in {LAST_ROUND - 1} rounds, and clients give up after the next; ask "
        "several questions at once, with ctx.ask(…)"
    )
