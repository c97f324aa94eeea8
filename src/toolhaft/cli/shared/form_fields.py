"""The fields of a form as a person sees them: one line each, and values as they are typed."""

import json
from typing import Any, NamedTuple

from ...client.json_shapes import as_list, as_object
from ...features.elicitation.forms import Form, reading
from ...protocol.elicitation.questions import Unfit
from .argument_schema import Schema, ordered
from .arguments import BadArgument, value_of
from .schema_text import full

_TRUTH = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


class Field(NamedTuple):
    """One field of a form."""

    name: str
    schema: Schema
    is_required: bool

    @property
    def has_default(self) -> bool:
        """May it be left empty, since there is a value for that?"""
        return self.schema.get("default") is not None

    @property
    def must_be_said(self) -> bool:
        """Is there no answer without a value for it?"""
        return self.is_required and not self.has_default

    def shown(self) -> str:
        """Its name, what it takes, and what it is if it is left empty."""
        extent = self._extent()
        if self.has_default:
            default: Any = self.schema["default"]
            extent += f" = {json.dumps(default, ensure_ascii=False)}"
        elif not self.is_required:
            extent += ", may be left empty"
        about = self.schema.get("description") or self.schema.get("title")
        return f"{self.name} ({extent})" + (f"  {about}" if about else "")

    def _extent(self) -> str:
        choices = [
            f"{number} {value if title == value else f'{value}: {title}'}"
            for number, (value, title) in enumerate(self._choices().items(), start=1)
        ]
        if choices:
            several = "several of " if self._is_list else ""
            return several + ", ".join(choices)
        return "y/n" if self.schema.get("type") == "boolean" else full(self.schema, self.schema)

    @property
    def _is_list(self) -> bool:
        return self.schema.get("type") == "array"

    def _choices(self) -> dict[str, str]:
        """The texts to choose from, each with its title."""
        schema = (as_object(self.schema.get("items")) or {}) if self._is_list else self.schema
        named = as_list(schema.get("oneOf")) or as_list(schema.get("anyOf")) or []
        found = {
            str(each["const"]): str(each.get("title", each["const"]))
            for each in map(as_object, named)
            if each is not None and "const" in each
        }
        if found:
            return found
        values = [str(each) for each in as_list(schema.get("enum")) or []]
        titles = as_list(schema.get("enumNames")) or []
        return (
            dict(zip(values, map(str, titles), strict=True))
            if len(titles) == len(values)
            else {value: value for value in values}
        )

    def read(self, text: str) -> Any:
        """The value of what was typed.

        Raises:
            BadArgument: it is none of this field.
        """
        choices = self._choices()
        if choices and self._is_list:
            typed = _listed(text)
            value: Any = [self._chosen(each, choices) for each in typed]
        elif choices:
            value = self._chosen(text, choices)
        elif self.schema.get("type") == "boolean" and text.strip().lower() in _TRUTH:
            value = _TRUTH[text.strip().lower()]
        else:
            value = value_of(self.name, text, self.schema, self.schema)
        check({self.name: value}, {"type": "object", "properties": {self.name: self.schema}})
        return value

    def _chosen(self, text: str, choices: dict[str, str]) -> str:
        """A choice by its value, its title or its number."""
        if text in choices:
            return text
        wanted = text.strip().lower()
        numbered = enumerate(choices.items(), start=1)
        for number, (value, title) in numbered:
            if wanted in (value.lower(), title.lower(), str(number)):
                return value
        known = ", ".join(choices)
        raise BadArgument(f"{self.name}: expected one of {known}, got {text!r}")


def fields_of(schema: Schema) -> list[Field]:
    """The fields of a form; what is required comes first."""
    found = ordered(
        {
            "properties": as_object(schema.get("properties")) or {},
            "required": as_list(schema.get("required")) or [],
        }
    )
    return [Field(name, as_object(part) or {}, required) for name, part, required in found]


def check(content: dict[str, Any], schema: Schema) -> None:
    """Does an answer fit its form?

    Raises:
        BadArgument: it does not.
    """
    form = _form(schema)
    if form is None:
        return
    try:
        form.read(content)
    except Unfit as error:
        raise BadArgument(str(error)) from None


def _form(schema: Schema) -> Form | None:
    try:
        return reading(schema)
    except (TypeError, ValueError):
        return None  # what a strange schema means is for the server to say


def _listed(text: str) -> list[str]:
    """Several values: a JSON list, or with commas between."""
    try:
        found = as_list(json.loads(text))
    except ValueError:
        found = None
    if found is not None:
        return [str(each) for each in found]
    return [part.strip() for part in text.split(",") if part.strip()]
