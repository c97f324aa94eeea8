"""Forms of elicitation as each revision knows them.

A form is kept in full: with every constraint that its answers are checked by, and with the title of
each choice. What a client is sent has only the keywords of its revision. A keyword that merely
helps the user is left out; a field that the revision cannot describe at all is an error.
"""

import math
from collections.abc import Mapping
from typing import Any

from ...errors import ToolError
from ..revisions import Revision

Schema = dict[str, Any]

_ALL = ("type", "title", "description")
_TEXT = (*_ALL, "minLength", "maxLength", "format")
_NUMBER = (*_ALL, "minimum", "maximum")
_KEYWORDS: Mapping[str, tuple[str, ...]] = {
    "string": _TEXT,
    "number": _NUMBER,
    "integer": _NUMBER,
    "boolean": (*_ALL, "default"),
    "array": (*_ALL, "minItems", "maxItems", "items"),
}
_CHOICE = (*_ALL, "enum", "enumNames", "oneOf")
_FORMATS = ("email", "uri", "date", "date-time")


def form_for(schema: Schema, revision: Revision) -> Schema:
    """The schema of a form as a client of this revision is sent it.

    Raises:
        ToolError: a field cannot be described in this revision.
    """
    properties: Schema = schema.get("properties", {})
    form: Schema = {
        "type": "object",
        "properties": {name: _field(name, part, revision) for name, part in properties.items()},
    }
    return {**form, "required": schema["required"]} if schema.get("required") else form


def _field(name: str, full: Schema, revision: Revision) -> Schema:
    kind: str = full["type"]
    if kind == "array" and not revision.forms.several:
        raise ToolError(
            f"this asks for several choices at once in {name!r}, which a form of revision "
            f"{revision.date} cannot; this client can be asked for one choice at a time"
        )
    is_choice = "enum" in full or "oneOf" in full
    known = set(_CHOICE if is_choice else _KEYWORDS[kind])
    if revision.forms.defaults:
        known.add("default")
    if revision.forms.pattern and kind == "string" and not is_choice:
        known.add("pattern")
    field = {key: each for key, each in full.items() if key in known or key.startswith("x-")}
    if field.get("format") not in _FORMATS:
        field.pop("format", None)
    if kind in ("integer", "number"):
        field |= _bounds(full)
    if "oneOf" in field and not revision.forms.titled:
        return _named(field)
    return field


def _bounds(full: Schema) -> Schema:
    """The limits of a number; forms have none that exclude the limit itself."""
    whole = full["type"] == "integer"
    lowest, highest = full.get("exclusiveMinimum"), full.get("exclusiveMaximum")
    bounds: Schema = {}
    if lowest is not None:
        lowest = math.floor(lowest) + 1 if whole else lowest
        bounds["minimum"] = max(lowest, full.get("minimum", lowest))
    if highest is not None:
        highest = math.ceil(highest) - 1 if whole else highest
        bounds["maximum"] = min(highest, full.get("maximum", highest))
    return bounds


def _named(field: Schema) -> Schema:
    """Choices with titles, in the way of the first revision that has forms."""
    choices: list[Schema] = field.pop("oneOf")
    values = [each["const"] for each in choices]
    return {**field, "enum": values, "enumNames": [each["title"] for each in choices]}
