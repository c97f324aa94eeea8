"""The checker of JSON Schema, which is loaded when there is something to check.

Most calls fit, and most schemas are ours. So whoever only serves does not wait for these modules at
start.
"""

from typing import Any

from ..schema.derived import Schema


def problems(
    value: Any,
    schema: Schema,
    *,
    lenient: bool = False,
    where: str = "",
    refused: bool = False,
) -> list[str]:
    """What is wrong with a value, one line each (`schema/checker.py`)."""
    from ..schema.checker import problems  # noqa: PLC0415

    return problems(value, schema, lenient=lenient, where=where, refused=refused)


def unpacked(value: Any, schema: Schema, root: Schema) -> Any:
    """A value with JSON instead of strings that hold it (`schema/jsonvalues.py`)."""
    from ..schema.jsonvalues import unpacked  # noqa: PLC0415

    return unpacked(value, schema, root)


def check_schema(schema: object, what: str, *, root_object: bool = True) -> Schema:
    """Is a schema that an author wrote within what is checked (`schema/explicit.py`)?"""
    from ..schema.explicit import check_schema  # noqa: PLC0415

    return check_schema(schema, what, root_object=root_object)
