"""Questions that a tool may ask, and the answers it gets.

A question is a value: `ctx.elicit(…)` asks one, `ctx.ask(a=Elicit(…), b=Roots())` several at once.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Generic, Literal, TypeAlias, TypedDict, TypeVar, cast, overload

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ...protocol.elicitation.form_revisions import form_for
from ...protocol.elicitation.questions import Question, Unfit
from ...protocol.revisions import Revision
from ...schema.codecs import error_lines
from ...schema.from_types import schema_of
from ...types.client_requests import (
    CreateMessageParams,
    CreateMessageResult,
    ElicitParams,
    ElicitResult,
    ListRootsResult,
    ModelHint,
    ModelPreferences,
    Root,
    SamplingMessage,
    SamplingTool,
    ToolChoice,
    ToolResultContent,
    ToolUse,
    Written,
)
from ...types.content import AudioContent, ImageContent, Role, TextContent
from ...types.rounds import ElicitUrlParams, ListRootsParams
from ..functions.markers import Asked
from ..results.messages import Message, Said, user
from ..type_checks import expect, listed
from .forms import Form, form_of

T = TypeVar("T")

# How a decoder says that something is not there.
_LACKS = "object missing required field "


class Accepted(Struct, Generic[T], frozen=True):
    """The user has answered."""

    value: T


class Declined(Struct, frozen=True):
    """The user has said no."""


class Cancelled(Struct, frozen=True):
    """The user has said neither yes nor no."""


Answer: TypeAlias = Accepted[T] | Declined | Cancelled


class Sampled(Struct, frozen=True, kw_only=True):
    """What a model of the client has written."""

    role: Role
    content: list[Written]
    model: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        """All of its text."""
        return "".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def tool_uses(self) -> list[ToolUse]:
        """The tools it wants to be called."""
        return [block for block in self.content if isinstance(block, ToolUse)]


class ToolAnswer:
    """What a tool gave that a model wanted to be called; goes among the messages to it."""

    __slots__ = ("_block",)

    def __init__(self, use: ToolUse, content: Said | Sequence[Said], error: bool = False) -> None:
        given: Any = content if isinstance(content, list | tuple) else [content]
        blocks = [user(item).wire().content for item in given]
        expect("ToolAnswer", "use", use, ToolUse)
        self._block = ToolResultContent(use.id, blocks, is_error=True if error else UNSET)

    def wire(self) -> ToolResultContent:
        """The answer as it is sent."""
        return self._block


class SampleTool(Struct, frozen=True):
    """A tool that a model may ask for: what it is for, and its arguments as a class or a schema."""

    name: str
    description: str
    arguments: Any

    def wire(self) -> SamplingTool:
        """The tool as it is sent."""
        schema = self.arguments
        if not isinstance(schema, dict):
            schema = schema_of(schema, given=True)
        return SamplingTool(self.name, self.description, cast(dict[str, Any], schema))


Spoken: TypeAlias = str | Message | Sampled | ToolAnswer


class Elicit(Asked[Answer[T]]):
    """Ask the user, by a form.

    Args:
        message: what the user reads.
        type: a dataclass, struct, TypedDict or model of texts, numbers, bools, dates and choices;
            one of these by itself; or the JSON Schema of such a class.

    Raises:
        TypeError: there is no form for this type; the message names the field.
        ValueError: this is no JSON Schema.
    """

    __slots__ = ("is_single",)

    @overload
    def __init__(self, message: str, type: type[T]) -> None: ...
    @overload
    def __init__(self: "Elicit[dict[str, Any]]", message: str, type: dict[str, Any]) -> None: ...
    @overload
    def __init__(self: "Elicit[Any]", message: str, type: Any) -> None: ...
    def __init__(self, message: str, type: Any) -> None:
        form = form_of(type)
        self.is_single = form.is_single
        params = ElicitParams(
            message=expect("Elicit", "message", message, str), requested_schema=form.schema
        )
        super().__init__(elicitation(params, partial(read_form, form)))


def read_form(form: Form, text: bytes) -> Answer[Any]:
    """What the user says to a form."""
    result = _result(ElicitResult, text)
    if result.action == "accept":
        return Accepted(form.read(result.content or {}))
    return _refusal(result)


def _refusal(result: ElicitResult) -> Declined | Cancelled:
    """What is neither yes nor no is no answer, as is an action that no revision knows."""
    return Declined() if result.action == "decline" else Cancelled()


def elicitation(params: ElicitParams, read: Callable[[bytes], Any]) -> Question:
    """A form as a question, of which each client is sent what its revision knows."""

    def for_revision(revision: Revision) -> ElicitParams:
        return ElicitParams(
            message=params.message, requested_schema=form_for(params.requested_schema, revision)
        )

    return Question(
        "elicitation/create", params, ("elicitation.form",), read, for_revision=for_revision
    )


class ElicitUrl(Asked[Answer[None]]):
    """Ask the user to visit a page, for what must not pass through the client.

    `Accepted` says that the user has agreed, not that the visit is over."""

    __slots__ = ()

    def __init__(self, message: str, url: str) -> None:
        expect("ElicitUrl", "message", message, str)
        if not expect("ElicitUrl", "url", url, str).startswith(("https://", "http://")):
            raise ValueError(f"ElicitUrl: url begins with https://, and {url!r} does not")
        params = ElicitUrlParams(mode="url", message=message, url=url)
        super().__init__(Question("elicitation/create", params, ("elicitation.url",), read_visit))


def read_visit(text: bytes) -> Answer[None]:
    """What the user says to a page."""
    result = _result(ElicitResult, text)
    if result.action == "accept":
        return Accepted(None)
    return _refusal(result)


class Roots(Asked[list[Root]]):
    """Ask in which folders the client works."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Question("roots/list", ListRootsParams(), ("roots",), read_roots))


def read_roots(text: bytes) -> list[Root]:
    """The folders of a client."""
    return _result(ListRootsResult, text).roots


class SampleOptions(TypedDict, total=False):
    """The keywords of `Sample`, for type checkers."""

    max_tokens: int
    system: str | None
    models: Sequence[str]
    cost: float | None
    speed: float | None
    intelligence: float | None
    temperature: float | None
    stop: Sequence[str]
    metadata: Mapping[str, Any] | None
    tools: Sequence[SampleTool]
    tool_choice: Literal["auto", "required", "none"] | None


class Sample(Asked[Sampled]):
    """Ask a model of the client.

    Args:
        prompt: what the user says; or messages, among them earlier answers and `ToolAnswer`s.
        system: what the model is told beforehand.
        models: names, or parts of names, of models that would be good, the best first.
        cost, speed, intelligence: how much each matters, from 0 to 1.
        tools: what the model may ask for; the client needs the capability `sampling.tools`, as it
            does for messages in which a tool was asked for.

    Raises:
        ValueError: a tool that the model asked for is not answered in the next message.
    """

    __slots__ = ()

    def __init__(
        self,
        prompt: str | Sequence[Spoken],
        *,
        max_tokens: int = 1000,
        system: str | None = None,
        models: Sequence[str] = (),
        cost: float | None = None,
        speed: float | None = None,
        intelligence: float | None = None,
        temperature: float | None = None,
        stop: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        tools: Sequence[SampleTool] = (),
        tool_choice: Literal["auto", "required", "none"] | None = None,
    ) -> None:
        if expect("Sample", "max_tokens", max_tokens, int) < 1:
            raise ValueError(f"Sample: max_tokens is 1 or more, not {max_tokens}")
        if tool_choice not in (None, "auto", "required", "none"):
            raise ValueError(f"Sample: tool_choice is auto, required or none, not {tool_choice!r}")
        # What is no number is smaller and larger than none.
        heat = temperature if isinstance(temperature, int | float | None) else math.nan  # pyright: ignore[reportUnnecessaryIsInstance]
        if not 0 <= (0 if heat is None else heat) < math.inf:
            raise ValueError(f"Sample: temperature is a number, 0 or more, not {temperature!r}")
        params = CreateMessageParams(
            messages=_messages([prompt] if isinstance(prompt, str) else prompt),
            max_tokens=max_tokens,
            system_prompt=_given(system),
            model_preferences=_preferences(models, cost, speed, intelligence),
            temperature=_given(temperature),
            stop_sequences=listed("Sample", "stop", stop, str) or UNSET,
            metadata=UNSET if metadata is None else dict(metadata),
            tools=[tool.wire() for tool in listed("Sample", "tools", tools, SampleTool)] or UNSET,
            tool_choice=UNSET if tool_choice is None else ToolChoice(tool_choice),
        )
        needs_tools = bool(tools) or tool_choice is not None or _speaks_of_tools(params.messages)
        requires = ("sampling", "sampling.tools") if needs_tools else ("sampling",)
        super().__init__(Question("sampling/createMessage", params, requires, read_message))


def _given(value: Any) -> Any:
    return UNSET if value is None else value


def _preferences(
    models: Sequence[str], cost: float | None, speed: float | None, intelligence: float | None
) -> ModelPreferences | UnsetType:
    for name, weight in (("cost", cost), ("speed", speed), ("intelligence", intelligence)):
        if not (weight is None or (isinstance(weight, int | float) and 0 <= weight <= 1)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"Sample: {name} is from 0 (least) to 1 (most), not {weight!r}")
    found = ModelPreferences(
        hints=[ModelHint(name) for name in listed("Sample", "models", models, str)] or UNSET,
        cost_priority=_given(cost),
        speed_priority=_given(speed),
        intelligence_priority=_given(intelligence),
    )
    return UNSET if found == ModelPreferences() else found


def _messages(given: Sequence[Spoken]) -> list[SamplingMessage]:
    messages: list[SamplingMessage] = []
    if not isinstance(given, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"Sample: prompt is a str or a list of messages, not {given!r}")
    for each in given:
        if isinstance(each, ToolAnswer):
            _add_answer(messages, each.wire())
        elif isinstance(each, Sampled):
            messages += _said(each)
        else:
            messages.append(_message(each))
    if not messages:
        raise ValueError("Sample: a model needs at least one message")
    _check_answers(messages)
    return messages


def _said(sampled: Sampled) -> list[SamplingMessage]:
    """What a model has written, as messages to it. Several blocks make one message only if tools
    are among them: the revisions that know no tools have one block in a message."""
    if sampled.tool_uses and len(sampled.content) > 1:
        return [SamplingMessage(sampled.role, [*sampled.content])]
    return [SamplingMessage(sampled.role, block) for block in sampled.content]


def _add_answer(messages: list[SamplingMessage], answer: ToolResultContent) -> None:
    """All answers to one message of the model go into one message of the user."""
    last = messages[-1].content if messages else None
    if isinstance(last, list) and isinstance(last[0], ToolResultContent):
        last.append(answer)
    else:
        messages.append(SamplingMessage("user", [answer]))


def _check_answers(messages: list[SamplingMessage]) -> None:
    """Every tool that a message of the model wants is answered in the next one, and no other."""
    wanted: list[str] = []
    for message in messages:
        given = [block.tool_use_id for block in _blocks(message, ToolResultContent)]
        _compare(wanted, given)
        wanted = [block.id for block in _blocks(message, ToolUse)]
    _compare(wanted, [])


def _compare(wanted: list[str], given: list[str]) -> None:
    if missing := [id_ for id_ in wanted if id_ not in given]:
        raise ValueError(
            f"Sample: the model asked for a tool (id {missing[0]!r}), and the next message does "
            "not answer that; put a ToolAnswer for each of `tool_uses` right after it"
        )
    for number, id_ in enumerate(given):
        if id_ not in wanted or id_ in given[:number]:
            raise ValueError(
                f"Sample: a ToolAnswer for {id_!r} that the message before does not ask for, or "
                "that is there twice; put it right after the message with its `tool_uses`"
            )


def _blocks(message: SamplingMessage, kind: type[T]) -> list[T]:
    blocks = message.content if isinstance(message.content, list) else [message.content]
    return [block for block in blocks if isinstance(block, kind)]


def _speaks_of_tools(messages: list[SamplingMessage]) -> bool:
    return any(_blocks(each, ToolUse) or _blocks(each, ToolResultContent) for each in messages)


def _message(given: str | Message) -> SamplingMessage:
    if isinstance(given, str):
        return SamplingMessage("user", TextContent(given))
    wire = expect("Sample", "each message", given, Message).wire()
    if not isinstance(wire.content, TextContent | ImageContent | AudioContent):
        raise TypeError("Sample: a model is sent text, pictures and sounds")
    return SamplingMessage(wire.role, wire.content)


def read_message(text: bytes) -> Sampled:
    """What a model says."""
    result = _result(CreateMessageResult, text)
    content = result.content if isinstance(result.content, list) else [result.content]
    return Sampled(
        role=result.role, content=content, model=result.model, stop_reason=result.stop_reason
    )


@cache
def _decoder(kind: Any) -> "msgspec.json.Decoder[Any]":
    """Made when it is needed: most servers ask nothing."""
    return msgspec.json.Decoder(kind)


def _result(kind: type[T], text: bytes) -> T:
    try:
        return cast(T, _decoder(cast(Any, kind)).decode(text))
    except msgspec.ValidationError as error:
        raise Unfit(_problem(error)) from None
    except (msgspec.DecodeError, UnicodeError):
        raise Unfit("the answer is not JSON in UTF-8") from None
    except RecursionError:
        raise Unfit("the answer is nested too deeply") from None


def _problem(error: msgspec.ValidationError) -> str:
    place, _, words = error_lines(error)[0].partition(": ")
    if words.startswith(_LACKS):
        return f"the answer{place} lacks {words.removeprefix(_LACKS)!r}"
    words = re.sub("^invalid (?:enum )?value (.*)", r"\1 is not known here", words)
    return f"the answer{place}: {words}"
