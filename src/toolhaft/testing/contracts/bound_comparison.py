"""What a narrowing is; and those of numbers, texts and sizes, which need nothing but bounds."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from ...schema.validation.schema_parts import (
    Parts,
    Schema,
    exact,
    is_list,
    is_object,
    least,
    most,
    operands,
    text,
)


class _Nothing:
    """Stands for a keyword that is not there, since `null` is a value too."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING: Any = _Nothing()


class Narrowing(NamedTuple):
    """Something that the first schema allows and the second may refuse."""

    # Which part of the value: "" for all of it, "to.city", "words[]", "*" for members by any name.
    path: str
    keyword: str
    first: Any = NOTHING
    second: Any = NOTHING
    # If not, it could not be told.
    is_certain: bool = True


def member(path: str, name: str) -> str:
    """The path of a member."""
    return f"{path}.{name}" if path else name


def untold(path: str, keyword: str, first: Any = NOTHING, second: Any = NOTHING) -> Narrowing:
    """What could not be told."""
    return Narrowing(path, keyword, tuple_of(first), tuple_of(second), is_certain=False)


def tuple_of(value: Any) -> Any:
    """A value that can be told from others: an object as JSON, a list as the JSON of its items."""
    if is_list(value):
        return tuple(text(each) for each in value)
    return text(value) if is_object(value) else value


def numbers(first: Parts, part: Schema, path: str, *, whole: bool) -> Iterator[Narrowing]:
    """What numbers may be."""
    for keyword, bound, sign in (
        ("minimum", least, 1),
        ("exclusiveMinimum", least, 1),
        ("maximum", most, -1),
        ("exclusiveMaximum", most, -1),
    ):
        if keyword in part:
            before = bound(first, whole=whole)
            after = bound([{keyword: part[keyword]}], whole=whole)
            if after is None or before is None or _key(before, sign) < _key(after, sign):
                said = operands(first, keyword)
                yield Narrowing(path, keyword, said[0] if said else NOTHING, part[keyword])
    if "multipleOf" in part:
        units = [exact(each) for each in operands(first, "multipleOf")]
        units += [Fraction(1)] if whole else []
        if not any((unit / exact(part["multipleOf"])).denominator == 1 for unit in units):
            said = operands(first, "multipleOf")
            yield Narrowing(path, "multipleOf", said[0] if said else NOTHING, part["multipleOf"])


def _key(bound: tuple[Fraction, bool], sign: int) -> tuple[Fraction, bool]:
    return sign * bound[0], bound[1]


def strings(first: Parts, part: Schema, path: str) -> Iterator[Narrowing]:
    """What texts may be."""
    yield from sizes(first, part, path, "Length", shortest=0, longest=float("inf"))
    for keyword in ("pattern", "format"):
        if keyword in part:
            said = operands(first, keyword)
            was = said[0] if said else NOTHING
            yield Narrowing(path, keyword, was, part[keyword], is_certain=not said)


def sizes(
    first: Parts, part: Schema, path: str, of: str, *, shortest: float, longest: float
) -> Iterator[Narrowing]:
    """How large something may be, which is also bound by what is known of it otherwise."""
    said = operands(first, f"min{of}")
    if part.get(f"min{of}", 0) > max([*said, shortest]):
        yield Narrowing(path, f"min{of}", said[0] if said else NOTHING, part[f"min{of}"])
    said = operands(first, f"max{of}")
    if part.get(f"max{of}", float("inf")) < min([*said, longest]):
        yield Narrowing(path, f"max{of}", said[0] if said else NOTHING, part[f"max{of}"])
