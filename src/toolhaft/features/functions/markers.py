"""Markers in a signature: `Context`, `Ask` and `InputRequired`.

A light module: `Context` and the elicitation modules are imported only for functions that use them.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from ...protocol.calls import Exchange
from ...protocol.elicitation.questions import Question, valid_key
from ..type_checks import expect

T_co = TypeVar("T_co", covariant=True)


class Asked(Generic[T_co]):
    """A question to the client. The type parameter is the type of the answer."""

    __slots__ = ("question",)

    def __init__(self, question: Question) -> None:
        self.question = question


class Ask:
    """Fill a parameter with the user's answer: `size: Annotated[Size, Ask("Which size?")]`.

    All such parameters of a function are asked for together, before it is called. If the user does
    not answer, or the client cannot be asked, the default counts; without one the call fails."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = expect("Ask", "message", message, str)


def checked_questions(what: str, questions: Mapping[str, Asked[Any]]) -> dict[str, Question]:
    """Return the protocol questions by name, after a check.

    Raises:
        TypeError: a value is not a question.
        ValueError: a name is invalid.
    """
    for name, asked in questions.items():
        valid_key(what, "a name", name)
        if not isinstance(asked, Asked):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{what}({name}=…) takes a question, as Elicit(…) or Roots()")
    return {name: asked.question for name, asked in questions.items()}


class InputRequired:
    """The result of a function that handles rounds itself: questions for the client. The function
    is called again with the answers in `ctx.answers` and with `state` in `ctx.state`; with a state
    and no question, as soon as the client repeats the call.

    Answers are plain JSON values. The state is signed, so that no client can change it; it is
    encrypted only with the extra `[auth]`. Annotate the return type: `-> str | InputRequired`."""

    __slots__ = ("questions", "state")

    def __init__(self, questions: Mapping[str, Asked[Any]] = {}, state: Any = None) -> None:
        if not isinstance(questions, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError('InputRequired takes questions by name, as in {"size": Elicit(…)}')
        if not questions and state is None:
            raise ValueError("InputRequired needs a question, or a state to be called again with")
        checked_questions("InputRequired", questions)
        self.questions = dict(questions)
        self.state = state


class Rounds(Protocol):
    """Rounds of a function that returns `InputRequired`."""

    async def settled(self, call: Callable[[], Awaitable[Any]], /) -> Any:
        """Call the function again with each round of answers; return its final value."""
        ...

    def settled_on_thread(self, call: Callable[[], Any], /) -> Any:
        """Do the same for a plain function, waiting on its worker thread."""
        ...


class BaseContext:
    """Base class of `Context`, its only subclass, without the imports of `Context`."""

    __slots__ = ()

    @property
    def rounds(self) -> Rounds:
        """Rounds of a function that returns `InputRequired`; internal."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise if the call was cancelled or timed out."""
        raise NotImplementedError


MakeContext = Callable[[Exchange], BaseContext]


def is_context(annotation: object) -> bool:
    """Whether an annotation is `Context`, without importing it."""
    return isinstance(annotation, type) and annotation.__base__ is BaseContext
