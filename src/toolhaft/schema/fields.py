"""Fields of dataclasses, structs, TypedDicts, named tuples and attrs classes, in one form.

`dataclasses` takes as long to import as a dozen of our modules, so it is imported only when a
dataclass is inspected; the author's code has imported it by then.
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
    """The type of `MISSING`, the marker for «no default»."""


MISSING: Any = _Missing()


class Field(msgspec.Struct, frozen=True):
    """One field of a class, as a member of a JSON object."""

    name: str
    type: Any
    required: bool
    default: Any = MISSING


def is_kind(annotation: Any, base: type) -> bool:
    """Test for a subclass of `base`; False for anything that is not a class."""
    return isinstance(annotation, type) and issubclass(annotation, base)


def is_named_tuple(annotation: Any) -> bool:
    """Test for a named tuple class."""
    return is_kind(annotation, tuple) and hasattr(annotation, "_fields")


def is_array(annotation: Any) -> bool:
    """Test whether a class with fields is encoded as a JSON array."""
    base: Any = get_origin(annotation) or annotation
    if is_kind(base, msgspec.Struct):
        return bool(base.__struct_config__.array_like)
    return is_named_tuple(base)


def alias_target(annotation: Any) -> Any:
    """Return the target of an alias made by `type X = …`; None for anything else."""
    origin = get_origin(annotation)
    if hasattr(origin, "__value__"):
        return origin.__value__[get_args(annotation)]
    return getattr(annotation, "__value__", None) if origin is None else None


def unwrapped_type(annotation: Any) -> Any:
    """Return the type inside `Annotated[int, …]`, `NotRequired[int]`, a `NewType` or an alias; None
    for anything else."""
    if get_origin(annotation) in (Annotated, Required, NotRequired, Final):
        return get_args(annotation)[0]
    if isinstance(annotation, NewType):
        return annotation.__supertype__
    return alias_target(annotation)


def is_path(kind: Any) -> bool:
    """Test for a `pathlib` class, by name, since the module takes 5 ms to import."""
    return isinstance(kind, type) and any(base.__name__ == "PurePath" for base in kind.__mro__)


def is_dataclass(kind: Any) -> bool:
    """Test for a dataclass or an instance of one."""
    return hasattr(kind if isinstance(kind, type) else type(kind), "__dataclass_fields__")


def dataclass_fields(kind: Any) -> tuple[Any, ...]:
    """Return the fields of a dataclass or of an instance of one."""
    from dataclasses import fields  # noqa: PLC0415

    return fields(kind)


def is_dataclass_field(value: object) -> bool:
    """Test for the result of `dataclasses.field`."""
    kind = type(value)
    return kind.__name__ == "Field" and kind.__module__ == "dataclasses"


def default_of_field(field: Any) -> Any:
    """Return the default of a dataclass field, or `MISSING`."""
    default = field.default
    return MISSING if type(default).__name__ == "_MISSING_TYPE" else default


def fields_of(kind: Any) -> list[Field] | None:
    """Return the fields of a class in the author's order; None for a type without fields."""
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
    """Return the fields with `init=False`, as `Class.field`."""
    base: Any = get_origin(kind) or kind
    if not is_kind(base, object):
        return []
    name, found = base.__name__, getattr(base, "__attrs_attrs__", ())
    if is_dataclass(base):
        found = dataclass_fields(base)
    return [f"{name}.{field.name}" for field in found if not field.init]


def tag_of(kind: Any) -> str | None:
    """Return the name of the tag field of a tagged struct; None for any other type."""
    base: Any = get_origin(kind) or kind
    if not is_kind(base, msgspec.Struct) or base.__struct_config__.tag is None:
        return None
    return str(base.__struct_config__.tag_field)


def _hints(kind: Any, base: Any) -> dict[str, Any]:
    """Return the types of the fields, with the type arguments of a generic class substituted."""
    hints = get_type_hints(base, include_extras=True)
    parameters = getattr(base, "__parameters__", ())
    if not parameters:
        return hints
    given = get_args(kind) or (Any,) * len(parameters)
    known = dict(zip(parameters, given, strict=True))
    return {name: _substituted(hint, known) for name, hint in hints.items()}


def _substituted(hint: Any, known: dict[Any, Any]) -> Any:
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
    """Test whether a key of a TypedDict is required.

    For annotations that are strings, `__required_keys__` ignores `Required` and `NotRequired`."""
    if get_origin(hint) is Required:
        return True
    return get_origin(hint) is not NotRequired and name in kind.__required_keys__


def _of_dataclass(field: Any, hints: dict[str, Any]) -> Field:
    default = default_of_field(field)
    required = default is MISSING and not callable(field.default_factory)
    return Field(field.name, hints[field.name], required, default)


def _of_attrs(attribute: Any, hints: dict[str, Any]) -> Field:
    # attrs is not imported: its marker for «no default» and its factories are recognised by name.
    default = attribute.default
    kind = type(default).__name__
    required = kind == "_Nothing"
    given = MISSING if kind in ("_Nothing", "Factory") else default
    return Field(attribute.name, hints.get(attribute.name, Any), required, given)
