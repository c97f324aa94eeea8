"""Questions of a server, answered by `--answer`, or by the person at the terminal."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from toolhaft_bridge.display import line

from ...client.json_shapes import as_object
from ...errors import McpError, MissingCapability
from ...protocol.revisions import REVISIONS
from .argument_schema import Schema
from .arguments import BadArgument, Word, split
from .form_fields import Field, check, fields_of
from .terminal import Terminal

Json: TypeAlias = dict[str, Any]

_ELICIT = "elicitation/create"
_NOT_HERE = {
    "sampling/createMessage": "a language model (sampling)",
    "roots/list": "the folders of its client (roots)",
}
# No answer, but a wish to see the question.
_SHOW = "show"
_ACTIONS = ("accept", "decline", "cancel", _SHOW)
_DECLINE = "-"
_YES = ("y", "yes")
_NO = ("n", "no", _DECLINE)
_TOO_OLD = re.compile(r"capability (?:.* and )?(\S+), which revision \S+ does not have")
_LACKING = re.compile(r"capability (?:.* and )?(elicitation|sampling|roots)\b")
_HINTS = {
    "elicitation": "it asks the user: --answer show shows what, --answer NAME=VALUE answers it; or "
    "run this in a terminal",
    "sampling": "it asks for a language model, which toolhaft has not; use a client that has one",
    "roots": "it asks for the folders of its client, and there are none here; use a client that "
    "has some",
}


class CannotAnswer(Exception):
    """A question that nobody here can answer, whatever the command line says."""


class _Whole(NamedTuple):
    """An answer to all of a question."""

    action: str
    content: Json


class Answers:
    """What is answered to the questions of one command, one after the other."""

    def __init__(self, given: Sequence[str], terminal: Terminal | None) -> None:
        self._given = [_read(word) for word in given]
        self._terminal = terminal
        self._turn = asyncio.Lock()

    @property
    def capabilities(self) -> Json:
        """What can be answered here; nothing, if there is neither an answer nor a person."""
        if self._given or self._terminal is not None:
            return {"elicitation": {"form": {}, "url": {}}}
        return {}

    def unused(self) -> list[str]:
        """The answers that nobody has asked for."""
        return [each.action if isinstance(each, _Whole) else each.name for each in self._given]

    async def answer(self, method: str, params: Json) -> Json:
        """The result of a request of the server's.

        Raises:
            BadArgument: there is no answer to it, or one that does not fit.
            CannotAnswer: there cannot be one.
        """
        if method != _ELICIT:
            wanted = _NOT_HERE.get(method, method)
            raise CannotAnswer(f"the server asks for {wanted}, which cannot be answered here")
        async with self._turn:
            if params.get("mode") == "url":
                return await self._visit(params)
            return await self._fill_in(params)

    # Pages

    async def _visit(self, params: Json) -> Json:
        message, url = str(params.get("message", "")), str(params.get("url", ""))
        whole = self._whole()
        wants_to_see = whole is not None and whole.action == _SHOW
        if whole is not None and not wants_to_see:
            return {"action": whole.action}
        if wants_to_see or self._terminal is None:
            raise BadArgument(
                f"this asks {message!r}, and to open {line(url)}; answer with --answer accept or "
                "--answer decline, or run it in a terminal"
            )
        self._terminal.say(f"{message}\n  {url}\n")
        return {"action": await self._agreed("  open this page? (y/n, - declines): ")}

    async def _agreed(self, prompt: str) -> str:
        assert self._terminal is not None
        while (typed := await self._terminal.line(prompt)) is not None:
            if typed.strip().lower() in _YES:
                return "accept"
            if typed.strip().lower() in _NO:
                return "decline"
        return "cancel"

    # Forms

    async def _fill_in(self, params: Json) -> Json:
        message = str(params.get("message", ""))
        schema: Schema = as_object(params.get("requestedSchema")) or {}
        fields = fields_of(schema)
        whole = self._whole()
        if whole is not None:
            if whole.action == _SHOW:
                raise BadArgument(_unanswered(message, fields))
            if whole.action != "accept":
                return {"action": whole.action}
            left_open = [each for each in fields if each.name not in whole.content]
            if any(each.must_be_said for each in left_open):
                raise BadArgument(_unanswered(message, left_open))
            return _accepted({**_defaults(fields), **whole.content}, schema)
        content = self._named(fields)
        missing = [each for each in fields if each.name not in content]
        if content and not any(each.must_be_said for each in missing):
            return _accepted({**_defaults(missing), **content}, schema)
        if self._terminal is None:
            raise BadArgument(_unanswered(message, missing))
        return await self._ask(message, missing, content, schema)

    async def _ask(self, message: str, fields: list[Field], content: Json, schema: Schema) -> Json:
        assert self._terminal is not None
        self._terminal.say(f"{message}\n")
        if not fields:
            action = await self._agreed("  accept? (y/n, - declines): ")
            return _accepted(content, schema) if action == "accept" else {"action": action}
        self._terminal.say("  (- declines, Ctrl-D cancels)\n")
        for field in fields:
            typed = await self._typed(field)
            if typed is None or typed == _DECLINE:
                return {"action": "cancel" if typed is None else "decline"}
            if typed:
                content[field.name] = field.read(typed)
            elif field.has_default:
                content[field.name] = field.schema["default"]
        return _accepted(content, schema)

    async def _typed(self, field: Field) -> str | None:
        """A line that is good for a field; asked for again until it is."""
        assert self._terminal is not None
        while True:
            typed = await self._terminal.line(f"  {field.shown()}: ")
            if typed is None or typed.strip() == _DECLINE:
                return typed and _DECLINE
            if not typed.strip():
                if not field.is_required or field.has_default:
                    return ""
                self._terminal.say(f"  {field.name} is required\n")
                continue
            try:
                field.read(typed)
            except BadArgument as error:
                self._terminal.say(f"  {error}\n")
                continue
            return typed

    # What the command line says

    def _whole(self) -> _Whole | None:
        if self._given and isinstance(first := self._given[0], _Whole):
            del self._given[0]
            return first
        return None

    def _named(self, fields: list[Field]) -> Json:
        """The first answer to each field that comes before an answer to a whole question."""
        content: Json = {}
        known = {field.name: field for field in fields}
        for given in list(self._given):
            if isinstance(given, _Whole):
                break
            if given.name in known and given.name not in content:
                field = known[given.name]
                content[given.name] = field.read(given.value) if given.is_text else given.value
                self._given.remove(given)
        return content


def _read(text: str) -> _Whole | Word:
    if text in _ACTIONS:
        return _Whole(text, {})
    is_object = text.lstrip().startswith("{")
    if "=" not in text and not is_object:
        known = "NAME=VALUE, a JSON object, accept, decline, cancel or show"
        raise BadArgument(f"{text!r} is no answer; --answer takes {known}")
    words = split([text], bytes)
    if is_object:
        return _Whole("accept", {word.name: word.value for word in words})
    return words[0]


def _accepted(content: Json, schema: Schema) -> Json:
    check(content, schema)
    return {"action": "accept", "content": content}


def _defaults(fields: list[Field]) -> Json:
    return {field.name: field.schema["default"] for field in fields if field.has_default}


def _unanswered(message: str, fields: list[Field]) -> str:
    asked = line(f"this asks {message!r}")
    shown = "; ".join(line(field.shown()) for field in fields)
    if not fields:
        return f"{asked}; answer with --answer accept or --answer decline, or run it in a terminal"
    wanted = [field.name for field in fields if field.must_be_said]
    how = " ".join(f"--answer {name}=…" for name in wanted or [fields[0].name])
    return f"{asked}, for {shown}; answer with {how} or --answer decline, or run it in a terminal"


def hint(error: McpError | str) -> str:
    """What may help where the server wants a client to be able to do more; empty if nothing."""
    if isinstance(error, McpError) and error.code == MissingCapability.code:
        required = as_object((as_object(error.data) or {}).get("requiredCapabilities")) or {}
        found = [name for name in _HINTS if name in required]
    else:
        message = error.message if isinstance(error, McpError) else error
        if too_old := _TOO_OLD.search(message):
            return _newer(too_old[1])
        found = _LACKING.findall(message)
    return f"; {_HINTS[found[-1]]}" if found else ""


def _newer(capability: str) -> str:
    """Which revision to speak, for this to be asked."""
    able = [date for date, row in REVISIONS.items() if capability in row.askable]
    return f"; such questions need revision {able[-1]} or later; see --revision" if able else ""
