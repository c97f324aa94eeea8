"""`Arg`: explicit descriptions of arguments, where there are no annotations to read."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ...schema.fields import MISSING
from ...schema.from_types import Schema
from .completers import Complete, Completes

# Names of the JSON types: Python type or JSON Schema name to JSON Schema name.
_NAMES: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    type(None): "null",
    None: "null",
    **{
        name: name for name in ("string", "integer", "number", "boolean", "array", "object", "null")
    },
}
# Python types of the values of each JSON type.
_FITS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}
ArgType: TypeAlias = "type[Any] | str | None"


class Arg:
    """One argument of a tool or of a prompt.

    Args:
        name: the name of the argument; the `items` of a list need none.
        type: `str`, `int`, `float`, `bool`, `list`, `dict` or `None`, or the name of the type
            in JSON Schema, such as "string". Required.
        description: what it is for. Required for a named argument, unless `enum`, `items`,
            `properties` or `complete` is given.
        optional: it may be left out.
        enum: the only values it may have.
        items: the items of a list.
        properties: the members of a dict; no others are allowed.
        complete: suggests values for an argument of a prompt, as in `Complete(function)`; without
            it, the values of `enum` are suggested.

    Raises:
        TypeError, ValueError: an option is invalid; the message names the argument.
    """

    __slots__ = (
        "_complete", "_enum", "_items", "_properties", "description", "name", "optional", "type",
    )  # fmt: skip

    def __init__(
        self,
        name: str | None = None,
        type: ArgType = MISSING,
        description: str | None = None,
        *,
        optional: bool = False,
        enum: Sequence[Any] | None = None,
        items: "Arg | None" = None,
        properties: "Sequence[Arg] | None" = None,
        complete: Completes | None = None,
    ) -> None:
        what = "Arg(…)" if name is None else f"Arg({name!r})"
        if not (name is None or (isinstance(name, str) and name)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{what}: a name is a str that is not empty")
        if not (description is None or isinstance(description, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{what}: description must be a str, not {description!r}")
        if not isinstance(optional, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{what}: optional must be True or False, not {optional!r}")
        self.name = name
        self.type = _json_type(type, what)
        self.description = description
        self.optional = optional
        self._enum = None if enum is None else _values(enum, self.type, what)
        self._items = items
        if items is not None and self.type != "array":
            raise ValueError(f"{what}: items is for a list, and this is of type {self.type}")
        if not (items is None or isinstance(items, Arg)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{what}: items must be an Arg, as in items=Arg(type=int)")
        if properties is not None and self.type != "object":
            raise ValueError(f"{what}: properties is for a dict, and this is of type {self.type}")
        if properties is not None:
            _check_named(properties, f"{what}: properties")
        self._properties = None if properties is None else tuple(properties)
        if not (complete is None or callable(complete)):
            raise TypeError(f"{what}: complete must be a function of what was typed")
        self._complete = complete
        is_described = description is not None and description.strip()
        if name is not None and not is_described and not (enum or items or properties or complete):
            raise TypeError(
                f"{what}: a description is missing, without which a model has to guess; say what "
                f'it is for, as in Arg({name!r}, {self.type!r}, "what it is for")'
            )

    @property
    def completer(self) -> Complete | None:
        """The completer of its values: `complete`, or else the values of `enum`."""
        if self._complete is not None:
            return Complete(self._complete)
        return None if self._enum is None else Complete.among(self._enum)

    def schema(self) -> Schema:
        """Return the JSON Schema of the argument."""
        schema: Schema = {"type": self.type}
        if self.description is not None:
            schema["description"] = self.description
        if self._enum is not None:
            schema["enum"] = list(self._enum)
        if self._items is not None:
            schema["items"] = self._items.schema()
        if self._properties is not None:
            schema |= _members(self._properties)
        return schema

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Arg) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, self.type, self.description))

    def __repr__(self) -> str:
        return f"Arg({self.name!r}, {self.type!r})"


def arguments_schema(arguments: Sequence[Arg], what: str) -> Schema:
    """Return the schema of the arguments of a tool.

    Raises:
        TypeError, ValueError: an argument is invalid; the message names it.
    """
    _check_named(arguments, f"{what}: args")
    return {"type": "object", "properties": {}, **_members(arguments)}


def _members(arguments: Sequence[Arg]) -> Schema:
    schema: Schema = {}
    if members := {str(arg.name): arg.schema() for arg in arguments}:
        schema["properties"] = members
    if required := [arg.name for arg in arguments if not arg.optional]:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def _check_named(arguments: Sequence[Arg], what: str) -> None:
    if isinstance(arguments, str) or not isinstance(arguments, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f'{what} must be a list, as in [Arg("pattern", str, "what to look for")]')
    seen: set[str] = set()
    for number, arg in enumerate(arguments):
        if not isinstance(arg, Arg):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{what}: item {number} is no Arg, but {arg!r}")
        if arg.name is None:
            raise TypeError(f"{what}: item {number} has no name; give it one, as in Arg('pattern')")
        if arg.name in seen:
            raise ValueError(f"{what}: there are two of the name {arg.name!r}; rename one")
        seen.add(arg.name)


def _json_type(given: object, what: str) -> str:
    try:
        return _NAMES[given]
    except (KeyError, TypeError):
        got = "and none is given" if given is MISSING else f"not {given!r}"
        raise TypeError(
            f"{what}: type must be one of {', '.join(_FITS)}, or str, int, float, bool, list, dict "
            f"or None in Python, {got}"
        ) from None


def _values(enum: object, kind: str, what: str) -> tuple[Any, ...]:
    if isinstance(enum, str) or not isinstance(enum, Sequence) or not enum:
        raise TypeError(f"{what}: enum must be a list of values, not {enum!r}")
    values: tuple[Any, ...] = tuple(enum)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    for value in values:
        fits = isinstance(value, _FITS[kind]) and (kind == "boolean") == isinstance(value, bool)
        if not fits:
            raise ValueError(f"{what}: enum has {value!r}, which is not of type {kind}")
    return values
