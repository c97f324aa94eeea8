"""Signs in a signature: that a function wants the context of its call, or asks something.

This is all that a server loads of asking and of `Context` if none of its functions wants either.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from ...protocol.calls import Exchange
from ...protocol.elicitation.questions import Question, valid_key
from ..type_checks import expect

T_co = TypeVar("T_co", covariant=True)


class Asked(Generic[T_co]):
    """Something that a client can be asked. The type is that of the answer."""

    __slots__ = ("question",)

    def __init__(self, question: Question) -> None:
        self.question = question


class Ask:
    """Fill a parameter with what the user answers: `size: Annotated[Size, Ask("Which size?")]`.

    All such parameters of a function are asked for together, before it is called. If the user does
    not answer, or the client cannot be asked, the default counts; without one the call fails."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = expect("Ask", "message", message, str)


def wired(what: str, questions: Mapping[str, Asked[Any]]) -> dict[str, Question]:
    """Several questions as they are put.

    Raises:
        TypeError: there is one that is none.
        ValueError: a name cannot be used.
    """
    for name, asked in questions.items():
        valid_key(what, "a name", name)
        if not isinstance(asked, Asked):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{what}({name}=…) takes a question, as Elicit(…) or Roots()")
    return {name: asked.question for name, asked in questions.items()}


class InputRequired:
    """What a function returns that handles rounds itself: questions to ask, and then to call it
    again, with the answers in `ctx.answers` and with `state` in `ctx.state`. With a state and no
    question it is called again as soon as the client comes back.

    Answers are plain values here, as JSON has them. The state is sealed, so that no client can
    change it, but it can be read unless the extra `[auth]` is there. A function that may return
    this says so: `-> str | InputRequired`."""

    __slots__ = ("questions", "state")

    def __init__(self, questions: Mapping[str, Asked[Any]] = {}, state: Any = None) -> None:
        if not isinstance(questions, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError('InputRequired takes questions by name, as in {"size": Elicit(…)}')
        if not questions and state is None:
            raise ValueError("InputRequired needs a question, or a state to be called again with")
        wired("InputRequired", questions)
        self.questions = dict(questions)
        self.state = state


class Rounds(Protocol):
    """What a function has asked that returns `InputRequired`, so far."""

    async def settled(self, call: Callable[[], Awaitable[Any]], /) -> Any:
        """What a function returns in the end; it is called again with every round of answers."""
        ...

    def settled_on_thread(self, call: Callable[[], Any], /) -> Any:
        """The same for a plain function, which waits on its own thread."""
        ...


class Current:
    """The call that runs. `Context`, which authors know, is the only class of this kind."""

    __slots__ = ()

    @property
    def rounds(self) -> Rounds:
        """What a function has asked that returns `InputRequired`; for the library itself."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise if nobody waits for the answer any more."""
        raise NotImplementedError


MakeContext = Callable[[Exchange], Current]


def is_context(annotation: object) -> bool:
    """Is this `Context` itself? An author who names it has loaded it."""
    return isinstance(annotation, type) and annotation.__base__ is Current
