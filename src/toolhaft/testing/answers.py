"""Answers that a test has ready for what a server may ask."""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, cast

import msgspec

from ..client.json_shapes import as_list, as_object
from ..errors import McpError
from ..features.elicitation.questions import Accepted, Cancelled, Declined, Sampled
from ..protocol.revisions import REVISIONS, SUPPORTED, Revision
from ..schema.validation.supported import check_schema
from ..schema.validation.validator import problems
from .results import ToolFailed

Json: TypeAlias = dict[str, Any]
# By what the question says or by its method; in order; or a function of method and params.
Answers: TypeAlias = Mapping[str, Any] | Sequence[Any] | Callable[[str, Json], Any]

_FORM = "elicitation.form"
_ELICIT, _SAMPLE, _ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"


class Unanswered(AssertionError):
    """The server asks what the test has no answer for."""


class UnfitAnswer(AssertionError):
    """The test has an answer that is none to what the server asks."""


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
        _check(answers)
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
            UnfitAnswer: it is none to this question.
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

    def explain(self, error: BaseException, revision: Revision) -> None:
        """Why answers may be left over: there are revisions in which no user can be asked."""
        if _FORM in revision.askable or not _is_of_elicitation(error):
            return
        if not any(_may_be_a_users(*each) for each in self._left()):
            return
        oldest = [date for date in SUPPORTED if _FORM in REVISIONS[date].askable][-1]
        error.add_note(
            f"revision {revision.date} has no elicitation; if these answers are those of a user, "
            f"let this test speak {oldest} or later"
        )

    def _unused(self) -> Iterator[str]:
        for name, answer in self._left():
            yield f"question {name}: {answer!r}" if isinstance(name, int) else repr(name)

    def _left(self) -> Iterator[tuple[str | int, Any]]:
        """Answers that nobody has asked for, by what they answer or by their number."""
        yield from (each for each in (self._named or {}).items() if each[0] not in self._used)
        yield from enumerate(self._listed[self._next :], self._next + 1)

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


def _check(answers: object) -> None:
    if isinstance(answers, str | bytes):
        raise TypeError(f"answers={answers!r} is a text; give a list of answers: [{answers!r}]")
    if answers is not None and not isinstance(answers, Mapping | Sequence | Callable):
        kind = type(answers).__name__
        raise TypeError(f"answers is a {kind}; give a mapping, a list or a function")


def _is_of_elicitation(error: BaseException) -> bool:
    """Does a server, of whatever make, say that it could not ask, or are answers left over?"""
    if isinstance(error, ToolFailed | McpError):
        return "elicitation" in str(error).lower()
    return isinstance(error, UnusedAnswers)


def _may_be_a_users(name: str | int, answer: Any) -> bool:
    """Not if it is plain that a model or the roots are meant."""
    if name in (_SAMPLE, _ROOTS) or isinstance(answer, Sampled):
        return False
    return not (as_object(answer) or {}).keys() & {_WHOLE[_SAMPLE], _WHOLE[_ROOTS]}


def sent(question: Question, answer: Any) -> Json:
    """An answer as a client sends it.

    Raises:
        UnfitAnswer: it is none to this question.
    """
    method = question.method
    if method not in _SENT:  # of an extension that we know nothing of
        return cast(Json, _plain(question, answer))
    if isinstance(answer, _OF_OTHERS[method]):
        _refuse(question, answer, _WANTED[method])
    if isinstance(answer, Declined | Cancelled):
        return {"action": "decline" if isinstance(answer, Declined) else "cancel"}
    if isinstance(answer, Sampled):
        said: Json = msgspec.to_builtins(answer)
        reason = said.pop("stop_reason")
        return said if reason is None else {**said, "stopReason": reason}
    value: Any = cast(Any, answer).value if isinstance(answer, Accepted) else answer
    plain = _plain(question, value)
    whole = as_object(plain)
    if whole is not None and _WHOLE[method] in whole:
        return whole
    return _SENT[method](question, plain)


def _plain(question: Question, value: Any) -> Any:
    try:
        return msgspec.to_builtins(value)
    except TypeError as error:
        _refuse(question, value, f"it cannot be sent as JSON: {error}")


def _elicited(question: Question, plain: Any) -> Json:
    if question.params.get("mode") == "url":  # a page has no fields to fill in
        return {"action": "accept"}
    schema = as_object(question.params.get("requestedSchema")) or {}
    content = as_object(plain)
    if content is None:
        properties = list(as_object(schema.get("properties")) or {})
        content = {properties[0] if properties else "value": plain}
    if _is_schema(schema) and (wrong := problems(content, schema, where="content")):
        words = "; ".join(wrong)
        _refuse(question, plain, f"{words}; the server's schema is {json.dumps(schema)}{_AS_IT_IS}")
    return {"action": "accept", "content": content}


def _is_schema(schema: Json) -> bool:
    """Can it be checked by? If not, that is the fault of the server, and not of the answer."""
    try:
        check_schema(schema, "requestedSchema", root_object=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _sampled(question: Question, plain: Any) -> Json:
    content = {"type": "text", "text": plain} if isinstance(plain, str) else plain
    blocks = as_list(content) or [content]
    if not all("type" in (as_object(each) or {}) for each in blocks):
        _refuse(question, plain, _WANTED[_SAMPLE])
    return {"role": "assistant", "content": content, "model": "test", "stopReason": "endTurn"}


def _roots(question: Question, plain: Any) -> Json:
    roots = as_list(plain)
    if roots is None:
        _refuse(question, plain, _WANTED[_ROOTS])
    return {"roots": [{"uri": each} if isinstance(each, str) else each for each in roots]}


def _refuse(question: Question, answer: Any, why: str) -> NoReturn:
    raise UnfitAnswer(
        f"the answer {answer!r:.200} to {question.method}: {question.text!r} does not fit: {why}"
    )


_SENT: dict[str, Callable[[Question, Any], Json]] = {
    _ELICIT: _elicited,
    _SAMPLE: _sampled,
    _ROOTS: _roots,
}
# A dict with this member is sent as it is.
_WHOLE = {_ELICIT: "action", _SAMPLE: "model", _ROOTS: "roots"}
_OF_USERS = (Accepted, Declined, Cancelled)
_OF_OTHERS: dict[str, tuple[type[Any], ...]] = {
    _ELICIT: (Sampled,),
    _SAMPLE: _OF_USERS,
    _ROOTS: (*_OF_USERS, Sampled),
}
_AS_IT_IS = """; what is wrong on purpose is given whole: {"action": "accept", "content": …}"""
_WANTED = {
    _ELICIT: "expected a value, Declined() or Cancelled()",
    _SAMPLE: "expected a text, blocks of content, a Sampled, or an McpError as a refusal",
    _ROOTS: "expected a list of URIs, or an McpError as a refusal",
}


def _last_words(params: Json) -> str:
    messages: list[Json] = params.get("messages") or [{}]
    content = messages[-1].get("content", {})
    found: list[Json] = as_list(content) or [content]
    return "".join(each.get("text", "") for each in found)
