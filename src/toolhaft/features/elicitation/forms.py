"""Forms: what a user is asked for, as the few schemas that clients can show.

A form is a flat object of texts, numbers, truth values and choices. The schema of a type is made
as for any parameter, then brought into that shape; what cannot be is refused, by the name of the
field. A single value is a form with one field, which the author does not see.
"""

import enum
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from ...protocol.elicitation.questions import Unfit
from ...schema.codecs import codec_of, convert, error_lines, with_defaults
from ...schema.fields import fields_of, is_array, is_kind
from ...schema.from_types import Schema, UnknownType, schema_of
from ...schema.pydantic_models import is_model
from ...schema.validation.supported import resolve
from ..functions.completers import spelled as spelling
from ..lazy_validation import check_schema, problems

# The field of a form for a single value.
VALUE = "value"
_PRIMITIVE = ("string", "number", "integer", "boolean")
_FORMATS = ("email", "uri", "date", "date-time")
# What a schema may say that a form cannot; what is left out here is checked all the same.
_LEFT_OUT = ("contentEncoding", "uniqueItems")
# Keywords by which a schema puts others together; forms have none of them, but for choices.
_COMBINED = ("$ref", "allOf", "not", "if", "dependentSchemas")
_CHOOSING = ("const", "enum", "enumNames", "oneOf", "anyOf")
_ADVICE = "ask for text, numbers, bool, dates, choices, or a flat class of these"


class Titles:
    """How choices are called: `Annotated[Literal["s", "m"], Titles(s="Small", m="Medium")]`."""

    __slots__ = ("titles",)

    def __init__(self, titles: Mapping[str, str] | None = None, /, **more: str) -> None:
        self.titles = {**(titles or {}), **more}


class Form:
    """The schema of a form, in full, and what reads the answer."""

    __slots__ = ("_checked", "_convert", "_spelled", "is_single", "schema")

    def __init__(
        self,
        schema: Schema,
        convert: Callable[[dict[str, Any]], Any],
        spelled: Mapping[str, dict[str, Any]] | None = None,
        *,
        is_single: bool = False,
        checked: Schema | None = None,
    ) -> None:
        self.schema = schema
        # What an answer is checked by, if that is another schema.
        self._checked = schema if checked is None else checked
        # Is it for one value, whose field the author does not see?
        self.is_single = is_single
        self._convert = convert
        # Choices that are no text, by field: what each of them is on the wire.
        self._spelled: Mapping[str, dict[str, Any]] = {} if spelled is None else spelled

    def read(self, content: dict[str, Any]) -> Any:
        """The value that a user has given.

        Raises:
            Unfit: it is none.
        """
        given = {k: v for k, v in content.items() if v is not None or self._takes_null(k)}
        if found := problems(given, self._checked, lenient=True, where="the answer"):
            raise Unfit("; ".join(found))
        for name, choices in self._spelled.items():
            if name in given:
                given[name] = _meant(given[name], choices)
        try:
            return self._convert(given)
        except msgspec.ValidationError as error:
            raise Unfit("; ".join(f"the answer{line}" for line in error_lines(error))) from None

    def _takes_null(self, name: str) -> bool:
        """Is null a value of this field? If not, that is how clients leave it empty."""
        if name in self._checked.get("required", ()):
            return True  # it must not be left empty, and the check says so
        return not problems({name: None}, {**self._checked, "required": []}, lenient=True)


def _meant(value: Any, choices: dict[str, Any]) -> Any:
    if isinstance(value, str):
        return choices.get(value, value)
    return [choices.get(each, each) for each in value]


def form_of(kind: Any) -> Form:
    """The form for a type, or for a schema that an author wrote.

    Raises:
        TypeError: there is none; the message names the field.
        ValueError: this is no schema.
    """
    if isinstance(kind, dict):
        return _of_schema(check_schema(cast(Schema, kind), "cannot ask for this"))
    try:
        return _kept(kind) if _is_hashable(kind) else _made(kind)
    except UnknownType as error:
        raise TypeError(f"cannot ask for this: {error}; {_ADVICE}") from None


def reading(schema: Schema) -> Form:
    """Reads answers to a form that was sent before, or by another server.

    Raises:
        TypeError, ValueError: this is no schema.
    """
    return Form(check_schema(schema, "cannot read the answer"), lambda content: content)


def _made(kind: Any) -> Form:
    base = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if _is_class(base):  # of which a note has nothing more to say
        return _of_class(base)
    return _of_value(kind)


_kept = cache(_made)


def _is_hashable(kind: Any) -> bool:
    try:
        hash(kind)
    except TypeError:  # a note that stands beside the type is not
        return False
    return True


def _is_class(kind: Any) -> bool:
    if is_model(kind):
        return hasattr(kind, "model_fields") or hasattr(kind, "__pydantic_fields__")
    return fields_of(kind) is not None and not is_array(kind)


def _of_schema(root: Schema) -> Form:
    """The form for a schema that an author wrote; answers are checked by that schema itself."""
    if hidden := [keyword for keyword in (*_COMBINED, "anyOf", "oneOf") if keyword in root]:
        raise TypeError(
            f"cannot ask for this: a form has its fields in `properties`, not in `{hidden[0]}`; "
            f"{_ADVICE}"
        )
    given: Schema = root.get("properties", {})
    required: list[str] = root.get("required", [])
    if absent := [name for name in required if name not in given]:
        raise TypeError(
            f"cannot ask for this: {absent[0]!r} is required and not among the `properties`"
        )
    properties = {name: _written_field(name, part, root) for name, part in given.items()}
    return Form(_object(properties, required), lambda content: content, checked=root)


def _written_field(name: str, given: Any, root: Schema) -> Schema:
    """One field of a schema that an author wrote, in the shape that forms have."""
    schema = _inlined(given, root)
    kind = schema.get("type")
    field: Schema | None = None
    if kind == "array":
        choices = _written_choices(name, _inlined(schema.get("items"), root), "anyOf")
        if choices:
            items = choices if "anyOf" in choices else {"type": "string", **choices}
            items.pop("enumNames", None)  # which a choice of several does not have
            field = {**schema, "items": items}
    elif choices := _written_choices(name, schema, "oneOf"):
        field = {**_texts(schema), **choices} if kind in ("string", None) else None
    elif kind in _PRIMITIVE and "anyOf" not in schema:
        field = schema
    if field is None or any(keyword in field for keyword in _COMBINED):
        raise TypeError(f"cannot ask for this: {name!r} cannot be a field of a form; {_ADVICE}")
    if "default" in schema and (found := problems(schema["default"], field, where="default")):
        raise TypeError(f"cannot ask for this: the default of {name!r} does not fit: {found[0]}")
    return field


def _texts(schema: Schema) -> Schema:
    """A schema without its choices, for which strings are put in."""
    return {**{key: schema[key] for key in schema if key not in _CHOOSING}, "type": "string"}


def _written_choices(name: str, schema: Schema, titled: str) -> Schema:
    """The choices that a schema lists, as forms have them; nothing if it lists none.

    Args:
        titled: the keyword for choices with titles.
    """
    listed: list[Any] = schema.get("oneOf") or schema.get("anyOf") or []
    if listed:
        if not all(isinstance(each, dict) and "const" in each for each in listed):
            return {}
        values = [each["const"] for each in listed]
        choices = {
            titled: [{"const": e["const"], "title": e.get("title", e["const"])} for e in listed]
        }
    elif "const" in schema or "enum" in schema:
        values = schema["enum"] if "enum" in schema else [schema["const"]]
        choices = {"enum": values}
        if len(schema.get("enumNames", ())) == len(values):
            choices["enumNames"] = schema["enumNames"]
    else:
        return {}
    if not all(isinstance(value, str) for value in values):
        raise TypeError(f"cannot ask for this: the choices of {name!r} must be strings in a form")
    return choices


def _inlined(given: Any, root: Schema) -> Schema:
    """A schema together with what it refers to, and without `or null`: that is a field which is
    left empty. Whether it may be is checked when the answer is there."""
    schema: Schema = dict(cast(Schema, given)) if isinstance(given, dict) else {}
    while inner := _referred(schema, root):
        schema = {**inner, **schema}
    _drop_null(schema)
    if schema.get("default", True) is None:
        del schema["default"]
    return schema


def _referred(schema: Schema, root: Schema) -> Schema | None:
    """The one schema that this one refers to in place of a description, which is taken out."""
    if "$ref" in schema:
        target = resolve(root, schema.pop("$ref"))
        return cast(Schema, target) if isinstance(target, dict) else None
    for keyword in ("allOf", "anyOf"):
        parts = [part for part in schema.get(keyword, ()) if part != {"type": "null"}]
        if len(parts) == 1 and isinstance(parts[0], dict) and "const" not in parts[0]:
            del schema[keyword]
            return cast(Schema, parts[0])
    return None


def _of_class(kind: Any) -> Form:
    hints = get_type_hints(get_origin(kind) or kind, include_extras=True)
    native, found = codec_of(kind), schema_of(kind, given=True)
    if "$defs" in found:
        raise TypeError(f"{kind.__name__} contains itself, which a form cannot; {_ADVICE}")
    spelled: dict[str, dict[str, Any]] = {}
    properties: Schema = {}
    may_be_none: list[str] = []
    required = list(found.get("required", ()))
    for name, schema in found.get("properties", {}).items():
        if _drop_null(schema) and name in required:
            required.remove(name)
            may_be_none.append(name)
        properties[name] = _field(f"{kind.__name__}.{name}", schema, hints.get(name), name, spelled)

    def read(content: dict[str, Any]) -> Any:
        value = convert({**dict.fromkeys(may_be_none), **content}, native.native, strict=False)
        return with_defaults(value, native)

    return Form(_object(properties, required), read, spelled)


def _of_value(kind: Any) -> Form:
    schema, native = schema_of(kind, given=True), codec_of(kind)
    required = [] if _drop_null(schema) else [VALUE]
    spelled: dict[str, dict[str, Any]] = {}
    properties = {VALUE: _field("the answer", schema, kind, VALUE, spelled)}

    def read(content: dict[str, Any]) -> Any:
        return convert(content.get(VALUE), native.native, strict=False)

    return Form(_object(properties, required), read, spelled, is_single=True)


def _object(properties: Schema, required: list[str]) -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


def _drop_null(schema: Schema) -> bool:
    """Take `or null` out of a schema: in a form, that is a field left empty."""
    kinds: Any = schema.get("type")
    if not isinstance(kinds, list) or "null" not in kinds or len(cast(list[str], kinds)) > 2:
        return False
    [schema["type"]] = [kind for kind in cast(list[str], kinds) if kind != "null"]
    if "enum" in schema:
        schema["enum"] = [choice for choice in schema["enum"] if choice is not None]
    return True


def _field(
    where: str, schema: Schema, hint: Any, name: str, spelled: dict[str, dict[str, Any]]
) -> Schema:
    """One field of a form, with its choices spelled out."""
    shown = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
    if shown.get("format") not in _FORMATS:
        shown.pop("format", None)
    if "oneOf" in shown or "enumNames" in shown:  # the author has spelled them already
        return _written_field(where, shown, shown)
    if "enum" in shown:
        choices = _choices(shown.pop("enum"), name, spelled)
        if "default" in shown:
            shown["default"] = spelling(shown["default"])
        return {**shown, "type": "string", **_titled("oneOf", choices, hint)}
    items = shown.get("items")
    if shown.get("type") == "array" and isinstance(items, dict) and "enum" in items:
        choices = _choices(cast(Schema, items)["enum"], name, spelled)
        titled = _titled("anyOf", choices, hint)
        shown["items"] = titled if "anyOf" in titled else {"type": "string", **titled}
        if "default" in shown:
            shown["default"] = [spelling(each) for each in shown["default"]]
        return shown
    if shown.get("type") not in _PRIMITIVE:
        raise TypeError(f"{where} cannot be a field of a form; {_ADVICE}")
    return shown


def _choices(values: list[Any], name: str, spelled: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The choices as text, for clients show no others."""
    choices = {spelling(value): value for value in values}
    if any(not isinstance(value, str) for value in values):
        spelled[name] = choices
    return choices


def _titled(keyword: str, choices: dict[str, Any], hint: Any) -> Schema:
    titles = _titles(hint)
    if not any(titles.get(choice, choice) != choice for choice in choices):
        return {"enum": list(choices)}
    return {keyword: [{"const": each, "title": titles.get(each, each)} for each in choices]}


def _titles(hint: Any) -> dict[str, str]:
    """The titles that a type has for its choices, by how these are spelled."""
    if is_kind(hint, enum.Enum):
        return {spelling(each.value): _words(each.name, each.value) for each in hint}
    origin, args = get_origin(hint), get_args(hint)
    titles: dict[str, str] = {}
    if origin is Annotated:
        titles = _titles(args[0])
        for note in args[1:]:
            if isinstance(note, Titles):
                titles |= note.titles
    elif origin in (Union, types.UnionType, list, set, frozenset, tuple):
        for each in args:
            titles |= _titles(each)
    return titles


def _words(name: str, value: object) -> str:
    """The name of a member, for people: EXTRA_LARGE is «Extra large»."""
    return name if name == value else name.replace("_", " ").capitalize()
