"""Rounds that a function handles itself: it returns questions, and is called again.

What it asked travels with the answers, so that in the next round the answers can be read before the
function is called, and what is missing or does not fit is asked again without calling it.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, cast

import msgspec
from msgspec import Raw

from ...encoding.envelope import encode_text, is_null
from ...protocol.calls import Exchange
from ...protocol.elicitation.questions import Question
from ...protocol.elicitation.rounds import LAST_ROUND, Journal
from ...protocol.elicitation.rounds import Asked as Kept
from ...schema.codecs import write
from ...types.client_requests import ElicitParams
from ...types.wire import Wire
from ..functions.markers import Asked, InputRequired
from .forms import VALUE, Form, reading
from .questions import (
    Accepted,
    Elicit,
    elicitation,
    read_form,
    read_message,
    read_roots,
    read_visit,
)

_decode = msgspec.json.Decoder().decode


class Rounds:
    """What a function has asked so far, and what it is to know when it is called next."""

    __slots__ = ("_exchange", "answers", "state")

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.answers: dict[str, Any] = {}
        self.state: Any = None

    @property
    def _journal(self) -> Journal:
        if self._exchange.journal is None:
            self._exchange.journal = Journal()
        return self._exchange.journal

    def _goes_on(self) -> bool:
        """Was there a round before this one in which the function has asked, or left a state?"""
        journal = self._exchange.journal
        return journal is not None and (bool(journal.asked) or not is_null(journal.state))

    def resumed(self) -> dict[str, Question]:
        """What was asked in earlier rounds."""
        journal = self._exchange.journal
        asked = {} if journal is None else journal.asked
        return {key: _question(each, each.params) for key, each in asked.items()}

    def begin(self, required: InputRequired) -> dict[str, Question]:
        """What is to be asked now.

        Raises:
            ToolError: there is nothing to ask, and that too often: the function would be called
                for ever.
        """
        journal = self._journal
        if not required.questions and journal.round >= LAST_ROUND:
            raise journal.exhausted()
        asked = {key: _kept(each) for key, each in required.questions.items()}
        journal.reopen(key for key in asked if key in self.answers)
        journal.asked = {**journal.asked, **asked}
        journal.state = Raw(write(required.state))
        given = required.questions
        return {key: _question(each, given[key].question.params) for key, each in asked.items()}

    def take(self, answers: Mapping[str, Any]) -> None:
        """These were given: now the function can be called again."""
        journal = self._journal
        if self._exchange.caller.revision.handshake:  # here a round needs no other request
            journal.round += 1
        self.answers = {**self.answers, **answers}
        self.state = None if is_null(journal.state) else _decode(journal.state)

    async def settled(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """What a function returns in the end; it is called again with every round of answers."""
        ask = self._exchange.ask
        if self._goes_on():
            asked = self.resumed()
            self.take(await ask(asked) if asked else {})
        while isinstance(value := await call(), InputRequired):
            self.take(await ask(self.begin(value)))
        return value

    def settled_on_thread(self, call: Callable[[], Any]) -> Any:
        """The same for a plain function, which waits on its own thread."""
        ask = self._exchange.ask_from_thread
        if self._goes_on():
            asked = self.resumed()
            self.take(ask(asked) if asked else {})
        while isinstance(value := call(), InputRequired):
            self.take(ask(self.begin(value)))
        return value


def _kept(asked: Asked[Any]) -> Kept:
    question = asked.question
    single = isinstance(asked, Elicit) and asked.is_single
    return Kept(question.method, Raw(encode_text(question.params)), question.requires, single)


def _question(kept: Kept, params: Wire | Raw) -> Question:
    """A question whose answers are plain values."""
    if kept.method in _READERS:
        return Question(kept.method, params, kept.requires, _READERS[kept.method])
    if "elicitation.form" not in kept.requires:
        return Question(kept.method, params, kept.requires, read_visit)
    form = msgspec.json.decode(kept.params, type=ElicitParams)
    question = elicitation(form, partial(_read, kept, reading(form.requested_schema)))
    return msgspec.structs.replace(question, params=params)  # the very text that was asked before


def _read(kept: Kept, form: Form, text: bytes) -> Any:
    answer = read_form(form, text)
    if kept.single and isinstance(answer, Accepted):
        content: dict[str, Any] = cast(Any, answer).value
        return Accepted(content.get(VALUE))
    return answer


_READERS: dict[str, Callable[[bytes], Any]] = {
    "roots/list": read_roots,
    "sampling/createMessage": read_message,
}
