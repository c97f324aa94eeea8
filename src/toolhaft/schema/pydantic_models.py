"""pydantic models and validators as parameters and results, if pydantic is installed.

The only module that depends on pydantic, which is imported at the first type that needs it.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, cast

import msgspec

from ..encoding.json_bounds import TooMuch

Schema = dict[str, Any]


# Keywords dropped for output: Python's times may lack a zone, and a list returned for a set may
# have duplicates.
_DROPPED_FOR_OUTPUT = [
    ("format", "date-time"), ("format", "time"), ("format", "duration"), ("uniqueItems", True),
]  # fmt: skip


# Errors of one value that are formatted.
_MOST_ERRORS = 1_000
# Member of a core schema with the type that is hashed; and types that are hashed with a secret, or
# have few values.
_HASHED = {"set": "items_schema", "frozenset": "items_schema", "dict": "keys_schema"}
_SAFELY_HASHED = ("str", "bytes", "bool", "literal", "enum", "date", "none")


def is_model(kind: Any) -> bool:
    """Test for a class that pydantic validates: a model, a pydantic dataclass or pydantic type."""
    return isinstance(kind, type) and (
        "__pydantic_validator__" in vars(kind) or hasattr(kind, "__get_pydantic_core_schema__")
    )


class Reader:
    """A decoder of one type, by pydantic.

    Raises:
        TypeError: pydantic is not installed, or does not support the type.
    """

    def __init__(self, annotation: Any, *, strict: bool = False) -> None:
        self._adapter = _adapter(annotation)
        self._strict = strict or None
        self._bounds = cache(partial(_bounds_of, self._adapter))

    def __call__(self, value: Any) -> Any:
        """Validate a value that was decoded from JSON.

        Raises:
            ModelErrors: it does not fit.
        """
        text = msgspec.json.encode(value)
        try:
            self._bounds().check(value, len(text))
        except TooMuch as error:
            raise ModelErrors([("", str(error))]) from None
        return self._validated(text)

    def of_text(self, raw: msgspec.Raw | bytes) -> Any:
        """Decode and validate a value from its JSON text.

        Raises:
            msgspec.ValidationError: it does not fit, or has a number beyond the range of floats.
        """
        try:
            if self._bounds().always_hold(len(raw)):
                return self._validated(bytes(raw))
            return self(msgspec.json.decode(raw))
        except (TypeError, ValueError) as error:
            raise msgspec.ValidationError(str(error)) from error

    def _validated(self, text: bytes) -> Any:
        try:
            # From text, since only JSON mode accepts a string for a date when strict.
            return self._adapter.validator.validate_json(text, strict=self._strict)
        except import_module("pydantic").ValidationError as error:
            raise ModelErrors(_problems(error)) from None


def reader_of(annotation: Any, *, strict: bool = False) -> Reader:
    """Create a decoder of this type.

    Raises:
        TypeError: pydantic is not installed, or does not support the type.
    """
    return Reader(annotation, strict=strict)


def _bounds_of(adapter: Any) -> Any:
    """Return the bounds on values, beyond which pydantic would validate for too long."""
    from .cost.validation_steps import Bounds  # noqa: PLC0415

    try:
        schema: Schema = adapter.json_schema()
    except import_module("pydantic").errors.PydanticInvalidForJsonSchema:
        schema = {}
    return Bounds(schema, is_hashed=_is_hashed(adapter.core_schema))


def _is_hashed(schema: Any) -> bool:
    """Test for sets or dicts of types for which a client can choose values with colliding hashes
    (`cost/argument_load.py`)."""
    if isinstance(schema, list | tuple):
        return any(map(_is_hashed, cast(Sequence[Any], schema)))
    if not isinstance(schema, dict):
        return False
    members = cast(Schema, schema)
    place = _HASHED.get(cast(str, members.get("type")))
    hashed: Any = members.get(place) if place else None
    if isinstance(hashed, dict) and hashed.get("type") not in _SAFELY_HASHED:  # pyright: ignore[reportUnknownMemberType]
        return True
    return any(map(_is_hashed, members.values()))


def to_json_values(value: Any) -> Any:
    """Convert a model to JSON values."""
    return _adapter_of_class(cast(Any, type(value))).dump_python(value, mode="json", by_alias=True)


def schema_of_model(
    annotation: Any, *, serialized: bool = False
) -> tuple[Schema, dict[str, Schema]]:
    """Return the schema of a model, simplified, and the definitions of its recursive types."""
    mode = "serialization" if serialized else "validation"
    adapter = _adapter(annotation)
    try:
        found: Schema = adapter.json_schema(mode=mode)
    except import_module("pydantic").errors.PydanticInvalidForJsonSchema as error:
        raise TypeError(str(error).splitlines()[0]) from None
    shared: dict[str, Schema] = found.pop("$defs", {})
    kept: dict[str, Schema] = {}
    lean = _Simplifier(shared, kept, serialized).of(found)
    return lean, kept


@cache
def _adapter_of_class(kind: type) -> Any:
    return _adapter(kind)


@cache
def reader_of_class(kind: type) -> Callable[[Any], Any]:
    """Return the cached decoder of a class."""
    return reader_of(kind)


def _adapter(annotation: Any) -> Any:
    try:
        pydantic: Any = import_module("pydantic")
    except ModuleNotFoundError:
        raise TypeError("only pydantic can check this; install it") from None
    try:
        return pydantic.TypeAdapter(annotation)
    except pydantic.errors.PydanticUserError as error:
        raise TypeError(str(error).splitlines()[0]) from None


class ModelErrors(ValueError):
    """The problems that pydantic found in a value: pairs of path and message."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{place}: {words}" for place, words in self.problems))


def _problems(error: Any) -> list[tuple[str, str]]:
    """Return the problems in an error of pydantic, or only their number if there are too many.

    Formatting takes far longer than validation, and pydantic formats either all errors or none."""
    count: int = error.error_count()
    if count > _MOST_ERRORS:
        return [("", f"does not fit, for {count:,} reasons")]
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return [(_place(each["loc"]), str(each["msg"])) for each in found]


def _place(steps: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def or_null(schema: Schema) -> Schema:
    """Simplify the `anyOf` of `T | None` to `"type": [T, "null"]`, if T is a single type."""
    others = [each for each in schema["anyOf"] if each != {"type": "null"}]
    if len(others) != 1 or len(others) == len(schema["anyOf"]):
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    (other,) = others
    kind = other.get("type")
    if not isinstance(kind, str):
        return schema
    if "enum" in other:
        return {**other, "type": [kind, "null"], "enum": [*other["enum"], None], **rest}
    return {**other, "type": [kind, "null"], **rest}


class _Simplifier:
    """Simplifies a schema of pydantic: no titles, and definitions inlined unless recursive."""

    def __init__(
        self, shared: dict[str, Schema], kept: dict[str, Schema], serialized: bool
    ) -> None:
        self._shared = shared
        self._serialized = serialized
        self._kept = kept
        self._inside: list[str] = []

    def of(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return [self.of(item) for item in schema]  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(schema, dict):
            return schema
        members = cast(Schema, schema)
        name = str(members.get("$ref", "")).removeprefix("#/$defs/")
        if name in self._shared:
            rest = {key: value for key, value in members.items() if key != "$ref"}
            return {**self._definition(name), **self.of(rest)}
        kind = {"type": members["type"]} if isinstance(members.get("type"), str) else {}
        lean: Schema = {
            key: self._member(key, value)
            for key, value in {**kind, **members}.items()
            if not self._is_noise(key, value)
        }
        return or_null(lean) if "anyOf" in lean else lean

    def _is_noise(self, key: str, value: Any) -> bool:
        if self._serialized and (key, value) in _DROPPED_FOR_OUTPUT:
            return True
        return (
            (key == "title" and isinstance(value, str))
            or (key == "default" and value is None)
            or key == "discriminator"
        )

    def _member(self, key: str, value: Any) -> Any:
        if key in ("properties", "patternProperties"):
            return {name: self.of(each) for name, each in value.items()}
        return value if key in ("default", "const", "enum", "examples") else self.of(value)

    def _definition(self, name: str) -> Schema:
        if name in self._inside:
            self._kept.setdefault(name, {})
            return {"$ref": f"#/$defs/{name}"}
        self._inside.append(name)
        schema: Schema = self.of(self._shared[name])
        self._inside.pop()
        if name in self._kept:
            self._kept[name] = schema
            return {"$ref": f"#/$defs/{name}"}
        return schema
