"""The checkers of JSON Schema, which are loaded when there is something to check.

Most calls fit, and most schemas are ours. So whoever only serves does not wait for these modules at
start.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Protocol

from ..schema.codecs import Decode, write_mended
from ..schema.from_types import Schema


def problems(
    value: Any,
    schema: Schema,
    *,
    lenient: bool = False,
    where: str = "",
    refused: bool = False,
) -> list[str]:
    """What is wrong with a value, one line each (`schema/validation/validator.py`)."""
    return _problems()(value, schema, lenient=lenient, where=where, refused=refused)


# Kept, for an import that has nothing to do takes as long as a look at two arguments.
@cache
def _problems() -> Callable[..., list[str]]:
    from ..schema.validation.validator import problems  # noqa: PLC0415

    return problems


def unpacked(value: Any, schema: Schema, root: Schema) -> Any:
    """A value with JSON instead of strings that hold it (`json_values.py`). In a value of
    very many parts it is not looked for."""
    return _unpacked()(value, schema, root)


@cache
def _unpacked() -> Callable[[Any, Schema, Schema], Any]:
    from ..schema.validation.json_values import unpacked  # noqa: PLC0415

    return unpacked


class UnknownMembers:
    """Finds unknown members of objects in arguments that are not read from the text of a call.

    Args:
        types: those of the parameters, by name.
    """

    __slots__ = ("_checks", "_strict", "_types")

    def __init__(self, types: Mapping[str, Any], *, strict: bool) -> None:
        self._types = types
        self._strict = strict
        # Each is made when it is needed.
        self._checks: dict[str, Callable[[bytes], Any] | None] = {}

    def check(self, name: str, value: Any) -> None:
        """Look through the argument of this name.

        Raises:
            msgspec.ValidationError: there is an unknown member.
        """
        if not isinstance(value, dict | list):
            return
        if name not in self._checks:
            from ..schema.unknown_members import unknown_checker  # noqa: PLC0415

            self._checks[name] = unknown_checker(self._types[name], strict=self._strict)
        check = self._checks[name]
        if check is not None:
            check(write_mended(value))


def refusing_unknown(
    decode: Decode, parameters: Iterable[tuple[str, Any, bool]], *, strict: bool
) -> Decode:
    """A decoder of arguments that also refuses unknown members in them (`unknown_members.py`)."""
    from ..schema.unknown_members import refusing_unknown  # noqa: PLC0415

    return refusing_unknown(decode, parameters, strict=strict)


def refusing_unknown_inside(decode: Decode, annotation: Any, *, strict: bool) -> Decode:
    """The same for the decoder of one argument."""
    from ..schema.unknown_members import refusing_unknown_inside  # noqa: PLC0415

    return refusing_unknown_inside(decode, annotation, strict=strict)


class TypeLimits(Protocol):
    """What has to be known of a parameter before much is read for it (`cost/argument_load.py`)."""

    @property
    def is_light(self) -> bool: ...

    @property
    def is_bounded(self) -> bool: ...

    def admit(self, value: Any) -> None: ...


def type_limits_of(annotation: Any, patterns: Iterable[str] = ()) -> TypeLimits:
    """Look through an annotation, and at the patterns in it (`schema/cost/argument_load.py`)."""
    from ..schema.cost.argument_load import type_limits_of  # noqa: PLC0415

    return type_limits_of(annotation, patterns)


def longest_match(patterns: Iterable[str]) -> int | None:
    """How many characters can be matched with all of these; None if it does not matter.

    Raises:
        ValueError: one of them may take for ever.
    """
    from ..schema.cost.regex_backtracking import ENDLESS, degree_of, endless_message, longest_of  # noqa: PLC0415

    degrees = {pattern: degree_of(pattern) for pattern in patterns}
    for pattern, degree in degrees.items():
        if degree == ENDLESS:
            raise ValueError(endless_message(pattern))
    return longest_of(max(degrees.values(), default=1))


def check_schema(schema: object, what: str, *, root_object: bool = True) -> Schema:
    """Is a schema that an author wrote within what is checked (`validation/supported.py`)?"""
    from ..schema.validation.supported import check_schema  # noqa: PLC0415

    return check_schema(schema, what, root_object=root_object)


class _Compiled(Protocol):
    def problems(self, value: Any, *, lenient: bool, where: str) -> list[str]: ...


class Explicit:
    """A schema that an author wrote, and who checks by it: jsonschema-rs, if it is installed, else
    our own checker.

    Args:
        what: whose schema it is, as errors name it.
        root_object: it must describe an object, as the arguments of a tool are one.

    Raises:
        TypeError: it is no JSON object, or something in it is not JSON.
        ValueError: it is no schema, or uses what is not checked.
    """

    __slots__ = ("_compiled", "schema")

    def __init__(self, schema: Schema, what: str, *, root_object: bool = True) -> None:
        from ..schema.validation.supported import report_support  # noqa: PLC0415

        self.schema = schema
        surveyed = report_support(schema, what, root_object=root_object)
        compiled = _compiler()
        if compiled is None and surveyed.unsupported is not None:
            raise ValueError(
                f"{surveyed.unsupported}, or install toolhaft[schema], which knows more"
            )
        self._compiled: _Compiled | None = compiled and compiled(schema, surveyed, what)

    def problems(self, value: Any, *, lenient: bool = False, where: str = "") -> list[str]:
        """What is wrong with a value, one line each; nothing if it fits."""
        if self._compiled is None:
            return problems(value, self.schema, lenient=lenient, where=where)
        return self._compiled.problems(value, lenient=lenient, where=where)


@cache
def _compiler() -> Any:
    """What makes a checker of a schema, if jsonschema-rs is there."""
    try:
        from ..schema.validation.compiled import Compiled  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("jsonschema_rs"):
            raise
        return None
    return Compiled
