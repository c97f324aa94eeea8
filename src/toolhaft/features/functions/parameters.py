"""The parameters of a function, by source: client, context, dependency, header or user."""

import enum
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Struct

from ...schema.annotated import alias_of, is_field, read_metadata
from ...schema.codecs import codec_of
from ...schema.fields import MISSING, default_of_field, is_dataclass_field
from ...schema.fresh_defaults import fresh_copy, is_mutable
from ...schema.from_types import schema_of
from ..author_checks import unwrapped
from .completers import Complete
from .depends import Dependency, Depends, Header
from .markers import Ask, Asked, is_context

_KINDS = inspect.Parameter
_MSGSPEC_FIELD = type(msgspec.field(default=0))
# Markers that have to be called, each with an example for the error message.
_UNCALLED = (
    (Header, 'Header("X-Tenant")'),
    (Depends, "Depends(function)"),
    (Ask, 'Ask("Which size?")'),
    (Complete, "Complete(function)"),
)


class Unsafe:
    """Marks a template variable that may climb out of its folder: `Annotated[str, Unsafe]`."""


class Parameter(Struct, frozen=True):
    """An argument of the client."""

    name: str
    type: Any
    description: str | None = None
    default: Any = MISSING
    # Makes a new default for each call.
    default_factory: Callable[[], Any] | None = None
    completer: Complete | None = None
    unsafe: bool = False
    # Whether an annotation adds members to its schema.
    extra: bool = False

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING and self.default_factory is None


class HeaderParameter(Struct, frozen=True):
    """A parameter that is filled with an HTTP header."""

    parameter: Parameter
    header: Header
    # The type that msgspec converts the header to.
    native: Any
    # Whether it is a list: the header is split at its commas.
    many: bool


class AskedParameter(Struct, frozen=True):
    """A parameter that is filled with an answer of the user."""

    parameter: Parameter
    question: Asked[Any]


class Parameters(Struct):
    """All parameters of a function, by source."""

    given: list[Parameter]
    contexts: list[str]
    dependencies: dict[str, Dependency]
    headers: list[HeaderParameter]
    asked_parameters: list[AskedParameter]
    # Whether the function takes `**arguments`, and their annotation.
    rest: bool
    rest_type: Any
    returns: Any
    names: list[str]


def parameters_of(function: Callable[..., Any], what: str) -> Parameters:
    """Classify the parameters of a function.

    Raises:
        TypeError: a parameter cannot be filled; the message names it and says what to do.
    """
    hints = _hints(function, what)
    named = _keyword_parameters(function, what)
    found = Parameters(
        given=[],
        contexts=[],
        dependencies={},
        headers=[],
        asked_parameters=[],
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
            _classify(parameter, annotation, found, what)
    return found


def _header_parameter(parameter: Parameter, header: Header, what: str) -> HeaderParameter:
    try:
        schema = schema_of(parameter.type, given=True)
        native = codec_of(parameter.type).native
        return HeaderParameter(parameter, header, native, _is_array(schema))
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


def _asked_parameter(parameter: Parameter, note: Ask, what: str) -> AskedParameter:
    from ..elicitation.questions import Elicit  # noqa: PLC0415

    try:
        return AskedParameter(parameter, Elicit(note.message, parameter.type))
    except TypeError as error:
        raise TypeError(f"{what}: parameter {parameter.name!r}: {error}") from None


def _classify(parameter: inspect.Parameter, annotation: Any, found: Parameters, what: str) -> None:
    base, notes = annotation, list[Any]()
    if isinstance(annotation, Dependency):
        raise TypeError(
            f"{what}: parameter {parameter.name!r}: a dependency stands beside the type, as in "
            f"{parameter.name}: Annotated[TheType, Depends(…)], or is the default"
        )
    if get_origin(annotation) is Annotated:
        base, *notes = get_args(annotation)
    elif get_origin(annotation) in (Union, UnionType):  # a marker may be inside a member of a union
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
        # `field(default_factory=…)` as a default, which type checkers accept.
        field = cast(Any, default)
        factory = field.default_factory
        default = factory if callable(factory) else default_of_field(field)
        default = MISSING if default is msgspec.NODEFAULT else default
    described = _make_parameter(parameter.name, base, notes, default)
    for note in notes:
        if isinstance(note, Dependency):
            found.dependencies[parameter.name] = note
            return
        if isinstance(note, Header):
            found.headers.append(_header_parameter(described, note, what))
            return
        if isinstance(note, Ask):
            found.asked_parameters.append(_asked_parameter(described, note, what))
            return
    found.given.append(described)


def _refuse_aliases(name: str, notes: list[Any], what: str) -> None:
    """Refuse an alias: arguments have the names of their parameters, so it would be ignored."""
    for alias in filter(None, map(alias_of, notes)):
        raise TypeError(
            f"{what}: parameter {name!r} has the alias {alias!r}, and arguments have the names of "
            f"their parameters; name the parameter {alias!r}, or take a model with this alias"
        )


def _refuse_uncalled(name: str, notes: list[Any], what: str) -> None:
    """Refuse a marker without parentheses: it would be ignored, and the client would have to
    send the value."""
    for note in notes:
        for uncalled, example in _UNCALLED:
            if note is uncalled:
                raise TypeError(
                    f"{what}: parameter {name!r}: {note.__name__} is not called; write {example}"
                )


def _make_parameter(name: str, base: Any, notes: list[Any], default: Any) -> Parameter:
    read = read_metadata(notes)
    completer, unsafe, annotation = _completer_of_type(base), False, base
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
    if is_mutable(default):
        # A copy for each call, made from a private copy: the published default must not change with
        # the author's object.
        default = fresh_copy(default)
        factory = partial(fresh_copy, default)
    for note in notes:  # constraints stay in the annotation
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


def _keyword_parameters(function: Callable[..., Any], what: str) -> list[inspect.Parameter]:
    """Return the parameters of a function that is called with keyword arguments."""
    fixed = _bound_keywords(function)
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


def _bound_keywords(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the keywords that a `partial` has bound, which are no arguments of the client."""
    return function.keywords if isinstance(function, partial) else {}


def _is_context(annotation: object) -> bool:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_context(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return any(_is_context(each) for each in get_args(annotation))
    return is_context(annotation)


def _completer_of_type(annotation: Any) -> Complete | None:
    """Return the completer of a `Literal` or an `Enum`: its values."""
    if get_origin(annotation) is Annotated:
        return _completer_of_type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        found = [_completer_of_type(each) for each in get_args(annotation)]
        return next((completer for completer in found if completer is not None), None)
    if get_origin(annotation) is Literal:
        return Complete.among(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return Complete.among(member.value for member in annotation)
    return None
