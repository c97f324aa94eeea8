"""Arguments as they are written in a shell: `name=text`, `name:=json`, `name=@file`, `-`, `{…}`.

Words are taken apart first, which needs no server, and then read by the schema of the tool.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from .schema import Schema, fits, resolved, types_of

Arguments: TypeAlias = dict[str, Any]


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
                _value(name, value, properties.get(name, {}), schema) if is_text else value
            )
        else:
            arguments[name] = _repeated(name, own, properties.get(name, {}), schema)
    return arguments


def parsed(text: str) -> Any:
    """A JSON value. Raises ValueError."""
    return json.loads(text, parse_constant=_refused)


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _named(word: str) -> Word:
    name, equals, value = word.partition("=")
    is_text = not name.endswith(":")
    name = name.removesuffix(":")
    if not equals or not name:
        raise BadArgument(f"{word!r} is no argument; write name=text or name:=json")
    if value.startswith("@"):
        value = _file(name, value[1:])
    if is_text:
        return Word(name, value, is_text=True)
    return Word(name, _json(name, value), is_text=False)


def _members(text: str, where: str) -> list[Word]:
    value = _json(where, text)
    if not isinstance(value, dict):
        raise BadArgument(f"{where}: a JSON object of all arguments is expected")
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


def _json(name: str, text: str) -> Any:
    try:
        return parsed(text)
    except (ValueError, RecursionError) as error:
        raise BadArgument(f"{name}: not JSON: {error}") from None


def _value(name: str, text: str, schema: Schema, root: Schema) -> Any:
    types = types_of(schema, root)
    if types == frozenset({"string"}):
        return text
    if types == frozenset({"object"}):
        return _json(name, text)
    try:
        value = parsed(text)
    except (ValueError, RecursionError):
        value = text
    if not isinstance(value, str) and fits(value, types):
        return value
    if "string" in types:
        return text
    if "array" in types:
        # A list may be written without its brackets if it holds one thing.
        is_list = text.lstrip().startswith("[")
        return _json(name, text) if is_list else [_value(name, text, _items(schema, root), root)]
    expected = " or ".join(sorted(types))
    raise BadArgument(
        f"{name}: {text!r} is not of type {expected}; {name}:=json sends any JSON as it is"
    )


def _repeated(name: str, words: Sequence[Word], schema: Schema, root: Schema) -> list[Any]:
    if "array" not in types_of(schema, root):
        raise BadArgument(f"{name} is given twice, and takes no list")
    items = _items(schema, root)
    return [_value(name, value, items, root) if is_text else value for _, value, is_text in words]


def _items(schema: Schema, root: Schema) -> Schema:
    """What a list holds; of a union, what its first list does."""
    schema = resolved(schema, root)
    for choice in (schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        items: Any = resolved(choice, root).get("items")
        if isinstance(items, dict):
            return cast(Schema, items)
    return {}
