"""What a class is made of: its fields, if it travels as an object or as an array.

`dataclasses` takes as long to load as a dozen of our modules. Who has made one has loaded it.
"""

import typing
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NewType,
    NotRequired,
    Required,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec


class _Missing:
    """Stands for a default that is not there."""


MISSING: Any = _Missing()


class Field(msgspec.Struct, frozen=True):
    """One member of the object."""

    name: str
    type: Any
    required: bool
    default: Any = MISSING


def is_kind(annotation: Any, base: type) -> bool:
    """Is this a class, and one of a kind?"""
    return isinstance(annotation, type) and issubclass(annotation, base)


def is_named_tuple(annotation: Any) -> bool:
    """Is this made by `NamedTuple`?"""
    return is_kind(annotation, tuple) and hasattr(annotation, "_fields")


def is_array(annotation: Any) -> bool:
    """Does a class with fields travel as an array?"""
    base: Any = get_origin(annotation) or annotation
    if is_kind(base, msgspec.Struct):
        return bool(base.__struct_config__.array_like)
    return is_named_tuple(base)


def aliased(annotation: Any) -> Any:
    """What an alias made by `type X = …` stands for; None if it is none."""
    origin = get_origin(annotation)
    if hasattr(origin, "__value__"):
        return origin.__value__[get_args(annotation)]
    return getattr(annotation, "__value__", None) if origin is None else None


def behind(annotation: Any) -> Any:
    """The type that stands behind a name or a mark, such as `Annotated[int, …]` or
    `NotRequired[int]`; None if there is neither."""
    if get_origin(annotation) in (Annotated, Required, NotRequired, Final):
        return get_args(annotation)[0]
    if isinstance(annotation, NewType):
        return annotation.__supertype__
    return aliased(annotation)


def is_path(kind: Any) -> bool:
    """Is this a `pathlib` class? Told by name, for the module takes 5 ms to import; an author who
    uses it has imported it."""
    return isinstance(kind, type) and any(base.__name__ == "PurePath" for base in kind.__mro__)


def is_dataclass(kind: Any) -> bool:
    """Is this a dataclass, or an object of one?"""
    return hasattr(kind if isinstance(kind, type) else type(kind), "__dataclass_fields__")


def dataclass_fields(kind: Any) -> tuple[Any, ...]:
    """The fields of a dataclass, or of an object of one."""
    from dataclasses import fields  # noqa: PLC0415

    return fields(kind)


def is_dataclass_field(value: object) -> bool:
    """Was this made by `dataclasses.field`?"""
    kind = type(value)
    return kind.__name__ == "Field" and kind.__module__ == "dataclasses"


def given_default(field: Any) -> Any:
    """The default of a dataclass field, or `MISSING`."""
    default = field.default
    return MISSING if type(default).__name__ == "_MISSING_TYPE" else default


def fields_of(kind: Any) -> list[Field] | None:
    """Its fields in the author's order, or None if it is no class of this sort."""
    base: Any = get_origin(kind) or kind
    if not is_kind(base, object):
        return None
    if is_kind(base, msgspec.Struct):
        return _of_struct(kind, base)
    if is_dataclass(base):
        hints = _hints(kind, base)
        return [_of_dataclass(field, hints) for field in dataclass_fields(base) if field.init]
    if typing.is_typeddict(base):
        hints = _hints(kind, base)
        return [Field(name, hint, _is_required(base, name, hint)) for name, hint in hints.items()]
    if is_named_tuple(base):
        defaults: dict[str, Any] = base._field_defaults
        hints = _hints(kind, base)
        return [
            Field(name, hints.get(name, Any), name not in defaults, defaults.get(name, MISSING))
            for name in base._fields
        ]
    if hasattr(base, "__attrs_attrs__"):
        hints = _hints(kind, base)
        return [_of_attrs(attribute, hints) for attribute in base.__attrs_attrs__ if attribute.init]
    return None


def hidden_fields(kind: Any) -> list[str]:
    """The fields that a class keeps to itself (`init=False`)."""
    base: Any = get_origin(kind) or kind
    if not is_kind(base, object):
        return []
    name, found = base.__name__, getattr(base, "__attrs_attrs__", ())
    if is_dataclass(base):
        found = dataclass_fields(base)
    return [f"{name}.{field.name}" for field in found if not field.init]


def tag_of(kind: Any) -> str | None:
    """The name of the member that tells a struct from others, if it has one."""
    base: Any = get_origin(kind) or kind
    if not is_kind(base, msgspec.Struct) or base.__struct_config__.tag is None:
        return None
    return str(base.__struct_config__.tag_field)


def _hints(kind: Any, base: Any) -> dict[str, Any]:
    """The types of the fields; those of a generic class with its arguments put in."""
    hints = get_type_hints(base, include_extras=True)
    parameters = getattr(base, "__parameters__", ())
    if not parameters:
        return hints
    given = get_args(kind) or (Any,) * len(parameters)
    known = dict(zip(parameters, given, strict=True))
    return {name: _filled(hint, known) for name, hint in hints.items()}


def _filled(hint: Any, known: dict[Any, Any]) -> Any:
    if hint in known:
        return known[hint]
    inside = getattr(hint, "__parameters__", ())
    return hint[tuple(known.get(each, Any) for each in inside)] if inside else hint


def _of_struct(kind: Any, base: Any) -> list[Field]:
    config = base.__struct_config__
    tag = [] if config.tag is None else [Field(config.tag_field, Literal[config.tag], True)]
    return tag + [
        Field(
            field.encode_name,
            field.type,
            field.required,
            MISSING if field.default is msgspec.NODEFAULT else field.default,
        )
        for field in msgspec.structs.fields(kind)
    ]


def _is_required(kind: Any, name: str, hint: object) -> bool:
    """Python itself cannot tell where annotations are strings: then the marks are still in them."""
    if get_origin(hint) is Required:
        return True
    return get_origin(hint) is not NotRequired and name in kind.__required_keys__


def _of_dataclass(field: Any, hints: dict[str, Any]) -> Field:
    default = given_default(field)
    required = default is MISSING and not callable(field.default_factory)
    return Field(field.name, hints[field.name], required, default)


def _of_attrs(attribute: Any, hints: dict[str, Any]) -> Field:
    # attrs itself is not imported: its marker for «no default» and its factories are told by name.
    default = attribute.default
    kind = type(default).__name__
    required = kind == "_Nothing"
    given = MISSING if kind in ("_Nothing", "Factory") else default
    return Field(attribute.name, hints.get(attribute.name, Any), required, given)
