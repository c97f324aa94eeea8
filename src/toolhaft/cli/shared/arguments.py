"""Arguments as they are written in a shell: `name=text`, `name:=json`, `name=@file`, `-`, `{…}`.

Words are taken apart first, which needs no server, and then read by the schema of the tool.
"""

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from .argument_schema import Schema, fits, items_of, types_of
from .example_values import list_example, object_example

Arguments: TypeAlias = dict[str, Any]

_BOOLEANS = {"true": True, "false": False}
_EXPECTED = {
    "integer": ["an integer"],
    "number": ["a number"],
    "array": ["a JSON list"],
    "object": ["a JSON object"],
    "string": ["text"],
    "boolean": ["true", "false"],
    "null": ["null"],
}
_ALL_ARGUMENTS = """a JSON object of all arguments, as in '{"name": "text"}'"""
_LONGEST_SHOWN = 60


class BadArgument(Exception):
    """An argument that cannot be understood; the message says how to write it."""


class Word(NamedTuple):
    """One argument: a JSON value already, or a text that is still to be read by a schema."""

    name: str
    value: Any
    is_text: bool


def split(words: Sequence[str], stdin: Callable[[], bytes]) -> list[Word]:
    """Take words apart; files, and stdin if a word asks for it, are read here.

    Raises:
        BadArgument: a word is no argument, or a file cannot be read.
    """
    found: list[Word] = []
    for word in words:
        if word == "-":
            found += _members(_decoded(stdin(), "stdin"), "stdin")
        elif word.lstrip().startswith("{"):
            found += _members(word, "an argument in braces")
        else:
            found.append(_named(word))
    return found


def read(words: Sequence[Word], schema: Schema) -> Arguments:
    """The arguments of a tool, each text read as its parameter's schema says.

    Raises:
        BadArgument: a text does not fit, or a parameter that is no list is given twice.
    """
    properties: dict[str, Schema] = schema.get("properties", {})
    arguments: Arguments = {}
    for name in dict.fromkeys(word.name for word in words):
        own = [word for word in words if word.name == name]
        if len(own) == 1:
            [(_, value, is_text)] = own
            arguments[name] = (
                value_of(name, value, properties.get(name, {}), schema) if is_text else value
            )
        else:
            arguments[name] = _repeated(name, own, properties.get(name, {}), schema)
    return arguments


def texts(words: Sequence[Word]) -> dict[str, str]:
    """The arguments of a prompt, which are texts: all else is sent as the JSON of it."""
    arguments: dict[str, str] = {}
    for name in dict.fromkeys(word.name for word in words):
        values = [word.value for word in words if word.name == name]
        value: Any = values[0] if len(values) == 1 else values
        is_text = isinstance(value, str)
        arguments[name] = value if is_text else json.dumps(value, ensure_ascii=False)
    return arguments


def _named(word: str) -> Word:
    name, equals, value = word.partition("=")
    is_text = not name.endswith(":")
    name = name.removesuffix(":")
    if not equals or not name:
        raise BadArgument(f"{word!r} is no argument; write name=text or name:=json")
    from_file = value.startswith("@")
    text = _file(name, value[1:]) if from_file else value
    if is_text:
        return Word(name, text, is_text=True)
    try:
        return Word(name, _parsed(text), is_text=False)
    except _NotJson as error:
        hint = "" if from_file else f"; {_json_hint(name, text)}"
        where = f"{name}: {value[1:]!r}" if from_file else name
        raise BadArgument(f"{where}: not JSON: {_shown(text, error)}{hint}") from None


def _members(text: str, where: str) -> list[Word]:
    try:
        value = _parsed(text)
    except _NotJson as error:
        raise BadArgument(
            f"{where}: expected {_ALL_ARGUMENTS}, got {_shown(text, error)}"
        ) from None
    if not isinstance(value, dict):
        raise BadArgument(f"{where}: expected {_ALL_ARGUMENTS}, got {_shown(text)}")
    members = cast(Arguments, value)
    return [Word(name, member, is_text=False) for name, member in members.items()]


def _file(name: str, path: str) -> str:
    try:
        return _decoded(Path(path).read_bytes(), path)
    except OSError as error:
        hint = f"""; for a text that begins with @, write {name}:='"@…"'"""
        raise BadArgument(f"{name}: {path!r}: {error.strerror or error}{hint}") from None


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadArgument(f"{where}: not UTF-8 at byte {error.start}") from None


def value_of(name: str, text: str, schema: Schema, root: Schema) -> Any:
    """A text read as its schema says.

    Raises:
        BadArgument: it does not fit.
    """
    types = types_of(schema, root)
    if types == frozenset({"string"}):
        return text
    problem: _NotJson | None = None
    value: Any = text
    try:
        value = _parsed(text)
    except _NotJson as error:
        problem = error
    if not isinstance(value, str) and fits(value, types):
        return value
    if "string" in types:
        return text
    if "boolean" in types and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    if value is None and types == frozenset({"object"}):
        return None  # a schema need not mention that null stands for nothing
    if "array" in types and not text.lstrip().startswith("["):
        # A list may be written without its brackets if it holds one thing.
        return [value_of(name, text, items_of(schema, root), root)]
    expected = _either([word for type_ in _EXPECTED if type_ in types for word in _EXPECTED[type_]])
    example = _example(name, schema, root)
    raise BadArgument(f"{name}: expected {expected}, got {_shown(text, problem)}{example}")


def _repeated(name: str, words: Sequence[Word], schema: Schema, root: Schema) -> list[Any]:
    if "array" not in types_of(schema, root):
        raise BadArgument(f"{name} is given twice, and takes no list")
    items = items_of(schema, root)
    return [value_of(name, value, items, root) if is_text else value for _, value, is_text in words]


# JSON, and what to say of a text that is none


class _NotJson(Exception):
    """A text is not JSON; the line and column where that shows, if it is known."""

    def __init__(self, place: tuple[int, int] | None = None) -> None:
        super().__init__()
        self.place = place


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refused)
    except json.JSONDecodeError as error:
        raise _NotJson((error.lineno, error.colno)) from None
    except (ValueError, RecursionError):
        raise _NotJson from None


def _refused(_constant: str) -> Any:
    raise _NotJson


def _shown(text: str, problem: _NotJson | None = None) -> str:
    """What came; if that is too long to be seen at a glance, also where it is not JSON."""
    if not text.strip():
        return "nothing" if not text else repr(text)
    if len(text) <= _LONGEST_SHOWN:
        return repr(text)
    start = f"{text[:_LONGEST_SHOWN]!r}…"
    if problem is None or problem.place is None:
        return start
    line, column = problem.place
    return f"{start}, which is not JSON at line {line}, column {column}"


def _json_hint(name: str, text: str) -> str:
    """How to write what was probably meant."""
    bare = text.strip()
    if bare.lower() in ("true", "false", "null", "none"):
        return f"write {name}:={'null' if bare == 'None' else bare.lower()}"
    quoted = {"[": '["a", "b"]', "{": '{"name": "text"}'}.get(bare[:1])
    if quoted is None:
        clear = len(text) <= _LONGEST_SHOWN and not bare.startswith('"')
        quoted = json.dumps(text if clear else "text", ensure_ascii=False)
    return f"quote it for the shell, as in {name}:={shlex.quote(quoted)}"


def _example(name: str, schema: Schema, root: Schema) -> str:
    types = types_of(schema, root)
    if "array" in types:
        return f"; as in {list_example(name, schema, root)}"
    return f"; as in {object_example(name, schema, root)}" if "object" in types else ""


def _either(words: list[str]) -> str:
    *first, last = words or ["another value"]
    return f"{', '.join(first)} or {last}" if first else last
