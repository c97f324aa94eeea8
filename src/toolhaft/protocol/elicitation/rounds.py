"""A call over several rounds: what was asked and answered so far.

Nothing of a call stays on the server between two rounds. What must not be asked again travels with
the client, as `requestState` (`sealing.py`), and is looked up here when the function, which runs
again from its start, asks again. An answer counts for the question it was given to: a question that
reads differently now is asked anew. (That of a bridge, `toolhaft_bridge.journal`, is something
else.)
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ...encoding.envelope import encode_text, is_null
from ...errors import InvalidParams, ToolError
from .digests import digest
from .questions import ATTEMPTS, Question, Questions, Unfit, unfit

# Clients give up after ten rounds, without saying which question was one too many.
LAST_ROUND: Final = 10
_UNNAMED = "question-"


# Stands for an answer that has not come: those that have are objects.
_NONE = Raw(b"null")
# Each is decoded by itself.
_MOST_ANSWERS = 1_000


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
        "_given", "_used", "asked", "entries", "kept", "pending", "round", "state", "steps",
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
        # Also if this round does not come to its question: then the next one will.
        for key in self.pending & self._given.keys():
            entry = self.entries[key]
            self.entries[key] = Entry(entry.question, Raw(self._given.pop(key)), entry.misses)
        # The keys of what was asked and done in this round.
        self._used: set[str] = set()

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
            mark = digest(encode_text((question.method, question.params)))
            key = self._key(name, mark)
            raw = self._answer(key, mark)
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
            self.entries.pop(name, None)
            self._given.pop(name, None)
            self._used.discard(name)

    def step_key(self, name: str) -> str:
        """Under which key a step is recorded. A name that was used before gets a number."""
        return self._use(next(key for key in _keys(f"{name}()") if key not in self._used))

    def exhausted(self) -> ToolError:
        """The error for a call that has asked too often."""
        for key, entry in self.entries.items():
            if key not in self._used and not entry.is_open and key.startswith(_UNNAMED):
                return _changing(key)
        return ToolError(
            f"this call has asked in {LAST_ROUND - 1} rounds, and clients give up after the next; "
            "ask several questions at once, with ctx.ask(…), and do not come back only to wait"
        )

    def _key(self, name: str, mark: str) -> str:
        """The key of a question. A name that was used before gets a number, and so does what has no
        name. As what runs side by side may ask in another order now, what reads the same is taken
        first."""
        free: str | None = None
        for key in _keys(name):
            entry = self.entries.get(key)
            if key in self._used:
                continue
            if entry is not None and entry.question == mark:
                return self._use(key)
            # Without a name, what reads differently is another question.
            if free is None and (name or entry is None):
                free = key
            if entry is None:
                break
        assert free is not None, "there is always another number"
        return self._use(free)

    def _use(self, key: str) -> str:
        self._used.add(key)
        return key

    def _answer(self, key: str, mark: str) -> bytes | None:
        self.pending.discard(key)
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = Entry(mark)
            # An answer to what nobody has asked yet is as good as any.
            if key in self._given:
                entry.answer = Raw(self._given.pop(key))
        elif entry.question != mark:
            was_answered = not entry.is_open
            entry.question, entry.answer = mark, _NONE
            if was_answered:
                self._miss(key, _changing(key))
        return None if entry.is_open else bytes(entry.answer)

    def _miss(self, key: str, error: ToolError) -> None:
        """An answer that is of no use: it is asked for again, but not for ever."""
        entry = self.entries[key]
        entry.answer = _NONE
        entry.misses += 1
        if entry.misses >= ATTEMPTS:
            raise error


def _changing(key: str) -> ToolError:
    return ToolError(
        f"the question {key!r} reads differently each time it is asked, so that no answer is one "
        "to it; ask what does not depend on time or chance, or record that with ctx.step(…)"
    )


def _keys(name: str) -> Iterator[str]:
    """The keys that a name may have, in order."""
    if not name:
        return (f"{_UNNAMED}{number}" for number in count(1))
    return chain([name], (f"{name}#{number}" for number in count(2)))


def given_answers(raw: Raw | UnsetType) -> dict[str, bytes]:
    """The answers that a client sends with its call.

    Raises:
        InvalidParams: they are not an object of objects.
    """
    if raw is UNSET:
        return {}
    try:
        found: dict[str, Raw] = msgspec.json.decode(raw, type=dict[str, Raw])
        if len(found) > _MOST_ANSWERS:
            raise InvalidParams(f"params.inputResponses: more than {_MOST_ANSWERS:,} answers")
        answers = {key: bytes(each) for key, each in found.items()}
        for each in answers.values():
            msgspec.json.decode(each, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise InvalidParams("params.inputResponses: expected an object of objects") from None
    return answers
