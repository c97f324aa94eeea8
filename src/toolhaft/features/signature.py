"""A function as the protocol sees it: its parameters, their decoder, their schema.

At registration a function becomes a struct with one field per parameter, and the struct a decoder
that reads a call's raw arguments in one pass. Injected parameters are left out of both.
"""

import dataclasses
import enum
import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import asdict

from ..errors import InvalidParams, ParseError, clipped, shown
from ..jsonrpc import is_null
from .authoring import unwrapped
from .completer import Complete
from .context import Context
from .schema import Schema, UnknownType, object_schema, schema_of

_REQUIRED = dataclasses.MISSING
_NOTHING = Raw(b"{}")
_members = msgspec.json.Decoder(dict[str, Raw])
_SPELLING = {
    "int": "integer",
    "str": "string",
    "float": "number",
    "bool": "boolean",
    "dict": "object",
    "list": "array",
}
_QUOTED = re.compile(r"`([^`]+)`")


class BadArguments(Exception):
    """The arguments of a call do not fit; one line per problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Unsafe:
    """Marks a template variable that may climb out of its folder: `Annotated[str, Unsafe]`."""


class Parameter(Struct, frozen=True):
    """One argument that a caller may give."""

    name: str
    type: Any
    description: str | None = None
    default: Any = _REQUIRED
    completer: Complete | None = None
    unsafe: bool = False

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED


class Signature:
    """How a function is called with what came over the wire."""

    def __init__(self, function: Callable[..., Any], what: str) -> None:
        self.function = function
        self.what = what
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{what}: a generator has no result; return a value instead")
        hints = _hints(function, what)
        self.parameters: list[Parameter] = []
        self.contexts: list[str] = []
        for parameter in _parameters(function, what):
            annotation = hints.get(parameter.name, Any)
            if parameter.name == "ctx" and parameter.name not in hints:
                raise TypeError(f"{what}: annotate 'ctx' as Context, or give it another name")
            if _is_context(annotation):
                self.contexts.append(parameter.name)
            else:
                self.parameters.append(_parameter(parameter, annotation))
        self.returns: Any = hints.get("return", inspect.Parameter.empty)
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - asks for the method, not whether
        )
        self._struct = self._make_struct()
        self._decode = msgspec.json.Decoder(self._struct, strict=False).decode

    @cached_property
    def schema(self) -> Schema:
        """The schema of the arguments, as an object."""
        return object_schema(
            ((p.name, p.type, p.description, p.default) for p in self.parameters),
            [p.name for p in self.parameters if p.required],
        )

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of this name, if there is one."""
        return next((p for p in self.parameters if p.name == name), None)

    def bind(self, raw: Raw | UnsetType) -> dict[str, Any]:
        """The keyword arguments of a call.

        Raises:
            BadArguments: they are not what the function takes.
            InvalidParams: they are no object.
            ParseError: they are not JSON.
        """
        if raw is UNSET or (len(raw) == 4 and is_null(raw)):
            raw = _NOTHING
        try:
            return asdict(self._decode(raw))
        except msgspec.ValidationError:
            raise self._explain(raw) from None
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ParseError(f"the arguments are not JSON: {clipped(str(error))}") from None

    def bind_strings(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The same for arguments that came as strings: of a prompt, or out of a URI.

        Raises:
            BadArguments: they are not what the function takes.
        """
        try:
            return asdict(msgspec.convert(values, self._struct, strict=False))
        except msgspec.ValidationError:
            raise BadArguments(self._problems(values, _convert)) from None

    def _make_struct(self) -> type[Struct]:
        fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
        for parameter in self.parameters:
            self._check(parameter)
            if parameter.required:
                fields.append((parameter.name, parameter.type))
            else:
                fields.append((parameter.name, parameter.type, _field(parameter.default)))
        try:
            return msgspec.defstruct(
                "Arguments", fields, kw_only=True, forbid_unknown_fields=True, gc=False
            )
        except (TypeError, ValueError) as error:
            raise TypeError(f"{self.what}: {error}") from None

    def _check(self, parameter: Parameter) -> None:
        try:
            schema_of(parameter.type)
            msgspec.json.Decoder(parameter.type)
        except (UnknownType, TypeError) as error:
            raise TypeError(
                f"{self.what}: parameter {parameter.name!r}: {error}; use a type that JSON can "
                "carry, such as str, int, list[str] or a dataclass"
            ) from None

    def _explain(self, text: Raw) -> BadArguments | InvalidParams:
        try:
            members = _members.decode(text)
        except msgspec.ValidationError:
            return InvalidParams("params.arguments: expected an object")
        return BadArguments(self._problems(members, _decode))

    def _problems(self, given: Mapping[str, Any], read: Callable[[Any, Any], object]) -> list[str]:
        problems: list[str] = []
        for parameter in self.parameters:
            if parameter.name not in given:
                if parameter.required:
                    problems.append(f"{parameter.name}: missing")
                continue
            try:
                read(given[parameter.name], parameter.type)
            except msgspec.ValidationError as error:
                problems.append(_in_words(parameter, str(error)))
        known = {parameter.name for parameter in self.parameters}
        takes = ", ".join(sorted(known)) or "no arguments"
        problems += [
            f"{shown(name)}: unknown argument; expected {takes}"
            for name in given
            if name not in known
        ]
        return problems


def _decode(raw: Raw, kind: Any) -> object:
    return msgspec.json.decode(raw, type=kind, strict=False)


def _convert(value: object, kind: Any) -> object:
    return msgspec.convert(value, kind, strict=False)


def _in_words(parameter: Parameter, problem: str) -> str:
    """msgspec's message, in the words of JSON and with the path in front."""
    what, _, path = problem.partition(" - at `$")
    words = _QUOTED.sub(
        lambda quoted: " or ".join(
            _SPELLING.get(word, word) for word in quoted.group(1).split(" | ")
        ),
        what,
    )
    choices = schema_of(parameter.type).get("enum") if "enum value" in words else None
    if choices is not None:
        words += f"; expected one of {', '.join(str(choice) for choice in choices)}"
    return f"{parameter.name}{clipped(path.rstrip('`'))}: {words[:1].lower()}{clipped(words[1:])}"


def _field(default: Any) -> Any:
    """A default as msgspec takes it: shared values stay shared, as in Python itself."""
    return msgspec.field(default_factory=lambda: default)


def _hints(function: Callable[..., Any], what: str) -> dict[str, Any]:
    target = unwrapped(function)
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{what}: {error} in an annotation; import the name where the function is defined"
        ) from None


def _parameters(function: Callable[..., Any], what: str) -> list[inspect.Parameter]:
    kinds = inspect.Parameter
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters:
        if parameter.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD):
            star = "*" if parameter.kind is kinds.VAR_POSITIONAL else "**"
            raise TypeError(
                f"{what}: {star}{parameter.name} has no schema; name each argument, or take one "
                "dict or list"
            )
        if parameter.kind is kinds.POSITIONAL_ONLY:
            raise TypeError(
                f"{what}: parameter {parameter.name!r} is positional-only, and arguments come by "
                "name; remove the '/'"
            )
    if (
        parameters
        and parameters[0].name in ("self", "cls")
        and parameters[0].annotation is (kinds.empty)
    ):
        raise TypeError(
            f"{what}: {parameters[0].name!r} is not bound; register the method of an instance"
        )
    return parameters


def _is_context(annotation: object) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_context(get_args(annotation)[0])
    return isinstance(annotation, type) and issubclass(annotation, Context)


def _parameter(parameter: inspect.Parameter, annotation: Any) -> Parameter:
    description: str | None = None
    completer: Complete | None = _own_completer(annotation)
    unsafe = False
    notes: list[Any] = []
    if get_origin(annotation) is Annotated:
        annotation, *rest = get_args(annotation)
        completer = _own_completer(annotation)
        for note in rest:
            if isinstance(note, str):
                description = note
            elif isinstance(note, Complete):
                completer = note
            elif note is Unsafe or isinstance(note, Unsafe):
                unsafe = True
            else:
                notes.append(note)
        for note in notes:
            annotation = Annotated[annotation, note]
    default = _REQUIRED if parameter.default is parameter.empty else parameter.default
    return Parameter(parameter.name, annotation, description, default, completer, unsafe)


def _own_completer(annotation: Any) -> Complete | None:
    """Types that know their values complete by themselves."""
    if get_origin(annotation) is Literal:
        return Complete.among([str(value) for value in get_args(annotation)])
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return Complete.among([str(member.value) for member in annotation])
    return None
