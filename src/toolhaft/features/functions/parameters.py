"""The parameters of a function: who fills each of them, and what a client is told of it."""

import enum
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Struct

from ...schema.annotated import alias_of, is_field, read_notes
from ...schema.codecs import kind_of
from ...schema.fields import MISSING, given_default, is_dataclass_field
from ...schema.fresh_defaults import can_change, renewed
from ...schema.from_types import schema_of
from ..author_checks import unwrapped
from .completers import Complete
from .depends import Dependency, Depends, Header
from .markers import Ask, Asked, is_context

_KINDS = inspect.Parameter
_MSGSPEC_FIELD = type(msgspec.field(default=0))
# Notes that say nothing until they are called, and how they are written.
_UNCALLED = (
    (Header, 'Header("X-Tenant")'),
    (Depends, "Depends(function)"),
    (Ask, 'Ask("Which size?")'),
    (Complete, "Complete(function)"),
)


class Unsafe:
    """Marks a template variable that may climb out of its folder: `Annotated[str, Unsafe]`."""


class Parameter(Struct, frozen=True):
    """One argument that a caller may give."""

    name: str
    type: Any
    description: str | None = None
    default: Any = MISSING
    # Makes the default anew for each call.
    default_factory: Callable[[], Any] | None = None
    completer: Complete | None = None
    unsafe: bool = False
    # Did the author add something to its schema?
    extra: bool = False

    @property
    def required(self) -> bool:
        """Must a caller give it?"""
        return self.default is MISSING and self.default_factory is None


class Headed(Struct, frozen=True):
    """A parameter that a header fills."""

    parameter: Parameter
    header: Header
    # The type as it is read.
    native: Any
    # Is it a list, which has each of several values?
    many: bool


class Inquired(Struct, frozen=True):
    """A parameter that the user fills."""

    parameter: Parameter
    question: Asked[Any]


class Parameters(Struct):
    """All parameters of a function, by who fills them."""

    given: list[Parameter]
    contexts: list[str]
    dependencies: dict[str, Dependency]
    headers: list[Headed]
    inquired: list[Inquired]
    # Takes whatever else is given: `**arguments`.
    rest: bool
    rest_type: Any
    returns: Any
    names: list[str]


def parameters_of(function: Callable[..., Any], what: str) -> Parameters:
    """Sort out the parameters of a function.

    Raises:
        TypeError: one of them cannot be filled; the message names it and says what to do.
    """
    hints = _hints(function, what)
    named = _named(function, what)
    found = Parameters(
        given=[],
        contexts=[],
        dependencies={},
        headers=[],
        inquired=[],
        rest=False,
        rest_type=Any,
        returns=hints.get("return", _KINDS.empty),
        names=[parameter.name for parameter in named],
    )
    for parameter in named:
        if parameter.kind is _KINDS.VAR_KEYWORD:
            found.rest, found.rest_type = True, hints.get(parameter.name, Any)
            continue
        annotation = hints.get(parameter.name, Any)
        if parameter.name in ("ctx", "context") and parameter.name not in hints:
            name = parameter.name
            raise TypeError(f"{what}: annotate {name!r} as Context, or give it another name")
        if _is_context(annotation):
            found.contexts.append(parameter.name)
        else:
            _sort(parameter, annotation, found, what)
    return found


def _headed(parameter: Parameter, header: Header, what: str) -> Headed:
    try:
        schema = schema_of(parameter.type, given=True)
        native = kind_of(parameter.type).native
        return Headed(parameter, header, native, _is_array(schema))
    except TypeError as error:
        raise TypeError(f"{what}: parameter {parameter.name!r}: {error}") from None


def _is_array(schema: dict[str, Any]) -> bool:
    choices: list[dict[str, Any]] = schema.get("anyOf", [])
    kind = schema.get("type")
    return (
        kind == "array"
        or (isinstance(kind, list) and "array" in kind)
        or any(map(_is_array, choices))
    )


def _inquired(parameter: Parameter, note: Ask, what: str) -> Inquired:
    from ..elicitation.questions import Elicit  # noqa: PLC0415

    try:
        return Inquired(parameter, Elicit(note.message, parameter.type))
    except TypeError as error:
        raise TypeError(f"{what}: parameter {parameter.name!r}: {error}") from None


def _sort(parameter: inspect.Parameter, annotation: Any, found: Parameters, what: str) -> None:
    base, notes = annotation, list[Any]()
    if isinstance(annotation, Dependency):
        raise TypeError(
            f"{what}: parameter {parameter.name!r}: a dependency stands beside the type, as in "
            f"{parameter.name}: Annotated[TheType, Depends(…)], or is the default"
        )
    if get_origin(annotation) is Annotated:
        base, *notes = get_args(annotation)
    elif get_origin(annotation) in (Union, UnionType):  # a note may stand beside one of several
        inside = [get_args(each) for each in get_args(annotation) if get_origin(each) is Annotated]
        notes += [
            note for _, *each in inside for note in each if isinstance(note, Dependency | Header)
        ]
    _refuse_aliases(parameter.name, [*notes, parameter.default], what)
    _refuse_uncalled(parameter.name, [*notes, parameter.default], what)
    default = MISSING if parameter.default is parameter.empty else parameter.default
    if isinstance(default, Dependency | Header) or is_field(default):
        notes.append(default)
        default = MISSING
    elif isinstance(default, _MSGSPEC_FIELD) or is_dataclass_field(default):
        # The typed way to have it made for each call.
        field = cast(Any, default)
        factory = field.default_factory
        default = factory if callable(factory) else given_default(field)
        default = MISSING if default is msgspec.NODEFAULT else default
    described = _described(parameter.name, base, notes, default)
    for note in notes:
        if isinstance(note, Dependency):
            found.dependencies[parameter.name] = note
            return
        if isinstance(note, Header):
            found.headers.append(_headed(described, note, what))
            return
        if isinstance(note, Ask):
            found.inquired.append(_inquired(described, note, what))
            return
    found.given.append(described)


def _refuse_aliases(name: str, notes: list[Any], what: str) -> None:
    """The name of an argument is that of its parameter; one that a note gives would be ignored."""
    for alias in filter(None, map(alias_of, notes)):
        raise TypeError(
            f"{what}: parameter {name!r} has the alias {alias!r}, and arguments have the names of "
            f"their parameters; name the parameter {alias!r}, or take a model with this alias"
        )


def _refuse_uncalled(name: str, notes: list[Any], what: str) -> None:
    """A note without its parentheses would be ignored, and clients asked for the value."""
    for note in notes:
        for uncalled, example in _UNCALLED:
            if note is uncalled:
                raise TypeError(
                    f"{what}: parameter {name!r}: {note.__name__} is not called; write {example}"
                )


def _described(name: str, base: Any, notes: list[Any], default: Any) -> Parameter:
    read = read_notes(notes)
    completer, unsafe, annotation = _own_completer(base), False, base
    for note in read.rest:
        if isinstance(note, Complete):
            completer = note
        elif note is Unsafe or isinstance(note, Unsafe):
            unsafe = True
    factory = read.default_factory
    if default is MISSING and read.default is not UNSET:
        default = read.default
    if default is not MISSING and callable(default):
        default, factory = MISSING, default
    if can_change(default):
        # A copy for each call, of a copy that stays as it is published, whatever becomes of the
        # author's own object.
        default = renewed(default)
        factory = partial(renewed, default)
    for note in notes:  # whatever constrains stays beside the type
        if not isinstance(note, str):
            annotation = Annotated[annotation, note]
    if default is None and not _takes_none(base):
        annotation = Union[annotation, None]  # noqa: UP007 - a type that is known at run time only
    return Parameter(
        name,
        annotation,
        description=read.description,
        default=default,
        default_factory=factory,
        completer=completer,
        unsafe=unsafe,
        extra=bool(read.extra),
    )


def _takes_none(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return any(_takes_none(each) for each in get_args(annotation))
    return annotation in (Any, object, None, type(None)) or None in get_args(annotation)


def _hints(function: Callable[..., Any], what: str) -> dict[str, Any]:
    target = unwrapped(function)
    if isinstance(target, type):
        made_by = cast(Any, target).__init__
        hints = _hints(made_by, what) if inspect.isfunction(made_by) else {}
        return {**hints, "return": target}
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{what}: {error} in an annotation; import the name where the function is defined"
        ) from None


def _named(function: Callable[..., Any], what: str) -> list[inspect.Parameter]:
    """The parameters of a function that is called by name."""
    fixed = _fixed(function)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise TypeError(
            f"{what}: its parameters cannot be seen; wrap it in a function that names them"
        ) from None
    parameters = [each for each in signature.parameters.values() if each.name not in fixed]
    for parameter in parameters:
        if parameter.kind is _KINDS.VAR_POSITIONAL:
            raise TypeError(
                f"{what}: *{parameter.name} has no schema; name each argument, or take one list"
            )
        if parameter.kind is _KINDS.POSITIONAL_ONLY:
            raise TypeError(
                f"{what}: parameter {parameter.name!r} is positional-only, and arguments come by "
                "name; remove the '/'"
            )
    if parameters and parameters[0].name in ("self", "cls"):
        first = parameters[0]
        if first.annotation is _KINDS.empty:
            raise TypeError(
                f"{what}: {first.name!r} is not bound; register the method of an instance"
            )
    return parameters


def _fixed(function: Callable[..., Any]) -> Mapping[str, Any]:
    """What a `partial` has fixed is not the caller's to give."""
    return function.keywords if isinstance(function, partial) else {}


def _is_context(annotation: object) -> bool:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_context(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return any(_is_context(each) for each in get_args(annotation))
    return is_context(annotation)


def _own_completer(annotation: Any) -> Complete | None:
    """Types that know their values complete by themselves."""
    if get_origin(annotation) is Annotated:
        return _own_completer(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        found = [_own_completer(each) for each in get_args(annotation)]
        return next((completer for completer in found if completer is not None), None)
    if get_origin(annotation) is Literal:
        return Complete.among(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return Complete.among(member.value for member in annotation)
    return None
