"""Answers that a test has ready for what a server may ask."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec

from ..client.shapes import as_list
from ..errors import McpError
from ..features.asking import Accepted, Cancelled, Declined, Sampled

Json: TypeAlias = dict[str, Any]
# By what the question says or by its method; in order; or a function of method and params.
Answers: TypeAlias = Mapping[str, Any] | Sequence[Any] | Callable[[str, Json], Any]

_ELICIT, _SAMPLE, _ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"


class Unanswered(AssertionError):
    """The server asks what the test has no answer for."""


class UnusedAnswers(AssertionError):
    """The test has answers that the server did not ask for."""


class Question(msgspec.Struct):
    """Something that the server has asked."""

    method: str
    params: Json

    @property
    def text(self) -> str:
        """What it says: its message, the last words to a model, or its method."""
        if self.method == _SAMPLE:
            return _last_words(self.params) or self.method
        return str(self.params.get("message", self.method))


class Script:
    """The answers, and what became of them."""

    def __init__(self, answers: Answers | None) -> None:
        self._function = answers if callable(answers) else None
        self._named: Mapping[str, Any] | None = None
        self._listed: Sequence[Any] = ()
        if answers is None or isinstance(answers, Mapping):
            self._named = cast(Mapping[str, Any], answers or {})
        elif not callable(answers):
            self._listed = answers
        self._used: set[Any] = set()
        self._next = 0
        # All that was asked, in order.
        self.questions: list[Question] = []

    async def answer(self, method: str, params: Json) -> Json:
        """The result of the server's request.

        Raises:
            Unanswered: there is none.
            McpError: the answer is that.
        """
        question = Question(method, params)
        self.questions.append(question)
        answer = self._found(question)
        if callable(answer) and not isinstance(answer, type):
            answer = answer(params)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, McpError):
            raise answer
        return sent(question, answer)

    def check(self) -> None:
        """Was everything asked that there are answers for?

        Raises:
            UnusedAnswers: it was not.
        """
        if unused := list(self._unused()):
            raise UnusedAnswers(f"nobody has asked for the answers to {', '.join(unused)}")

    def _unused(self) -> Iterator[str]:
        yield from (repr(key) for key in self._named or () if key not in self._used)
        for number, answer in enumerate(self._listed[self._next :], self._next + 1):
            yield f"question {number}: {answer!r}"

    def _found(self, question: Question) -> Any:
        if self._function is not None:
            return self._function(question.method, question.params)
        if self._named is None:
            self._next += 1
            if self._next <= len(self._listed):
                return self._listed[self._next - 1]
            how = f"answers=[…] with more than {len(self._listed)} of them"
        else:
            for name in (question.text, question.method):
                if name in self._named:
                    self._used.add(name)
                    return self._named[name]
            how = f"answers={{{question.text!r}: …}}"
        raise Unanswered(f"no answer to {question.method}: {question.text!r}; give {how}")


def sent(question: Question, answer: Any) -> Json:
    """An answer as a client sends it."""
    if isinstance(answer, Declined | Cancelled):
        return {"action": "decline" if isinstance(answer, Declined) else "cancel"}
    if isinstance(answer, Sampled):
        said: Json = msgspec.to_builtins(answer)
        reason = said.pop("stop_reason")
        return said if reason is None else {**said, "stopReason": reason}
    value: Any = cast(Any, answer).value if isinstance(answer, Accepted) else answer
    plain: Any = msgspec.to_builtins(value)
    if isinstance(plain, dict) and _WHOLE.get(question.method) in (None, *cast(Json, plain)):
        return cast(Json, plain)
    return _SENT[question.method](question.params, plain)


def _elicited(params: Json, plain: Any) -> Json:
    if params.get("mode") == "url":  # a page has no fields to fill in
        return {"action": "accept"}
    if isinstance(plain, dict):
        return {"action": "accept", "content": plain}
    properties = list(params.get("requestedSchema", {}).get("properties", {}))
    return {"action": "accept", "content": {properties[0] if properties else "value": plain}}


def _sampled(params: Json, plain: Any) -> Json:
    content = {"type": "text", "text": plain} if isinstance(plain, str) else plain
    return {"role": "assistant", "content": content, "model": "test", "stopReason": "endTurn"}


def _roots(params: Json, plain: Any) -> Json:
    return {"roots": [{"uri": each} if isinstance(each, str) else each for each in plain]}


_SENT: dict[str, Callable[[Json, Any], Json]] = {
    _ELICIT: _elicited,
    _SAMPLE: _sampled,
    _ROOTS: _roots,
}
# A dict with this member is sent as it is.
_WHOLE = {_ELICIT: "action", _SAMPLE: "model", _ROOTS: "roots"}


def _last_words(params: Json) -> str:
    messages: list[Json] = params.get("messages") or [{}]
    content = messages[-1].get("content", {})
    found: list[Json] = as_list(content) or [content]
    return "".join(each.get("text", "") for each in found)
