"""Codecs: how Python types are decoded from JSON and encoded to it, by msgspec and hooks.

Most annotations pass through unchanged. The others are translated, so that one decoder reads a
whole call: constraints of other libraries become msgspec's, a union that msgspec rejects becomes a
type with a decoding hook that tries its members in order, and models are read by pydantic.
"""

import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import NoneType
from typing import (
    Annotated,
    Any,
    Literal,
    LiteralString,
    NewType,
    TypeAlias,
    Union,
    cast,
    get_args,
    get_origin,
)

import msgspec

from ..encoding.envelope import encode_mended
from ..errors import clipped
from . import pydantic_models
from .annotated import Metadata, read_metadata
from .fields import (
    MISSING,
    alias_target,
    dataclass_fields,
    default_of_field,
    fields_of,
    hidden_fields,
    is_dataclass,
    is_path,
)
from .fresh_defaults import fresh_copy, is_mutable

# File of `Context`, the methods of which a plain function calls through `ctx.sync`.
_CONTEXT = ("toolhaft/features/context.py", "toolhaft\\features\\context.py")
# Types that msgspec decodes as they are.
PLAIN = frozenset({str, int, float, bool, type(None), None, Any, object, list, dict, bytes})
_DIRECT: dict[Any, Any] = {
    **{plain: plain for plain in PLAIN},
    None: type(None),
    object: Any,
    LiteralString: str,
}
# Builtin types; a value of a subclass is encoded as the builtin.
_BASES: tuple[Any, ...] = (str, int, float, bytes, dict, list, tuple)
_UNIONS = (Union, types.UnionType)
# Generic types that msgspec does not support, and the type that is decoded in their place.
_READ_AS: dict[Any, Any] = {Iterable: list}


class _InstanceOfAny(type):
    """A metaclass that passes msgspec's `isinstance` check of the value that a hook returned."""

    def __instancecheck__(cls, value: object) -> bool:
        return True


class HookType(metaclass=_InstanceOfAny):
    """Base of types that are decoded by their own `read` function."""

    read: Callable[[Any], Any]


def _hook_type(name: str, read: Callable[[Any], Any]) -> type[HookType]:
    return cast("type[HookType]", _InstanceOfAny(name, (HookType,), {"read": staticmethod(read)}))


# Decodes JSON text to a value; raises the errors of msgspec's decoders.
Decode: TypeAlias = Callable[[msgspec.Raw | bytes], Any]


def text_reader_of(native: Any) -> Decode | None:
    """Return a decoder from JSON text, for types where that is faster (models); else None."""
    if not (isinstance(native, type) and issubclass(native, HookType)):
        return None
    return native.read.of_text if isinstance(native.read, pydantic_models.Reader) else None


def reading_models(decode: Decode, natives: Mapping[str, Any]) -> Decode:
    """Wrap a decoder of structs that leaves fields with models raw, and decode these from text.

    Decoding them first, only to encode them for pydantic, would double the time."""
    readers = [(name, text_reader_of(native)) for name, native in natives.items()]
    found = [(name, read) for name, read in readers if read is not None]

    def decode_models(raw: msgspec.Raw | bytes) -> Any:
        made = decode(raw)
        for name, read in found:
            given = getattr(made, name)
            if type(given) is msgspec.Raw:  # and not a default
                setattr(made, name, read(given))
        return made

    return decode_models if found else decode


def read_hook(kind: Any, value: Any) -> Any:
    """Decode a type that msgspec does not support (`dec_hook`)."""
    origin = get_origin(kind)
    if origin is not None:
        return convert(value, _READ_AS[origin][get_args(kind)], strict=False)
    if kind is object:
        return value
    if issubclass(kind, HookType):
        return kind.read(value)
    if is_path(kind):
        if not isinstance(value, str):
            raise ValueError("Expected `str`")
        return kind(value)
    if pydantic_models.is_model(kind):
        return pydantic_models.reader_of_class(kind)(value)
    raise NotImplementedError(kind)  # msgspec's convention for an unsupported type


def write_hook(value: Any) -> Any:
    """Encode a value that msgspec does not support (`enc_hook`)."""
    kind = cast(Any, type(value))
    if is_path(kind):
        return str(value)
    if kind is range:
        return list(value)
    for base in _BASES:  # a subclass of str is encoded as a str
        if isinstance(value, base) and kind is not base:
            return base(value)
    if pydantic_models.is_model(kind):
        return pydantic_models.to_json_values(value)
    raise TypeError(f"{kind.__name__} cannot be told in JSON; {_advice(value)}")


def _advice(value: Any) -> str:
    if inspect.iscoroutine(value):
        return how_to_await(value)
    if inspect.isgenerator(value):
        return "return list(…) of it"
    if hasattr(value, "block"):
        return "content is returned by itself or in a list, as in -> list[str | Image]"
    return "return a str, a number, a dict, a list, a dataclass or the like"


def how_to_await(coroutine: "types.CoroutineType[Any, Any, Any]") -> str:
    """Close a coroutine that was returned instead of awaited, and return advice for the author."""
    coroutine.close()
    owner, _, name = coroutine.__qualname__.rpartition(".")
    if owner == "Context" and coroutine.cr_code.co_filename.endswith(_CONTEXT):
        return f"await it, or write ctx.sync.{name}(…) in a plain def"
    return "await it"


def decoder_of(native: Any, *, strict: bool) -> "msgspec.json.Decoder[Any]":
    """Create a decoder of this type from JSON text."""
    return msgspec.json.Decoder(native, strict=strict, dec_hook=read_hook)


def convert(value: Any, native: Any, *, strict: bool) -> Any:
    """Convert decoded JSON to this type."""
    return msgspec.convert(value, native, strict=strict, dec_hook=read_hook, str_keys=True)


write = msgspec.json.Encoder(enc_hook=write_hook).encode


def write_mended(value: Any) -> bytes:
    """Encode a value, with U+FFFD for each lone surrogate, which UTF-8 cannot represent."""
    try:
        return write(value)
    except UnicodeEncodeError:
        return encode_mended(value, write_hook)


_WORDS = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "a boolean",
    "array": "an array",
    "object": "an object",
}


# Marks a msgspec error about the name of a member, not about its value.
_KEY = "key` in `"


# Problems of a value: the message of msgspec, or pydantic's pairs of path and message.
DecodingProblems: TypeAlias = str | Sequence[tuple[str, str]]


def decoding_problems(error: msgspec.ValidationError) -> DecodingProblems:
    """Extract the problems from an error, which itself would keep the decoded values alive."""
    cause = error.__cause__
    return cause.problems if isinstance(cause, pydantic_models.ModelErrors) else str(error)


def error_lines(error: msgspec.ValidationError) -> list[str]:
    """Format an error of a decoder, one line per problem: path in the value, and message."""
    return problem_lines(decoding_problems(error))


def problem_lines(found: DecodingProblems) -> list[str]:
    """Format the problems of an error in the same way."""
    if not isinstance(found, str):
        return [f"{place}: {clipped(words)}" for place, words in found]
    words, _, place = found.partition(" - at `")
    if place.startswith(_KEY):
        place = place.removeprefix(_KEY)
        words = f"a key: {words[:1].lower()}{words[1:]}"
    told = re.sub(
        "`([^`]+)`",
        lambda match: " or ".join(_WORDS.get(word, word) for word in match[1].split(" | ")),
        words,
    )
    place = place.removeprefix("$").rstrip("`")
    return [f"{clipped(place)}: {told[:1].lower()}{clipped(told[1:])}"]


class Codec(msgspec.Struct, frozen=True):
    """An annotation translated for msgspec, with the checks that msgspec leaves to the caller."""

    # The type to decode with msgspec and its hook.
    native: Any
    # A class of the author has a field with a constraint that msgspec ignores: validate by schema.
    checked: bool = False
    # There are classes with defaults, which msgspec does not set on the instance of a dataclass.
    lacks_defaults: bool = False
    # A class has a mutable default, which all of its instances would share.
    shares_defaults: bool = False
    # pydantic decodes it, or a part of it.
    uses_pydantic: bool = False
    # Fields with `init=False`, which msgspec would accept from a client.
    hidden: list[str] = []
    # Regular expressions that msgspec matches strings with.
    patterns: list[str] = []


def is_plain(annotation: Any) -> bool:
    """Test for a type that needs no translation."""
    try:
        return annotation in PLAIN and annotation is not object
    except TypeError:  # not hashable; reported by later checks
        return False


def codec_of(annotation: Any, *, strict: bool = False, closed: bool = False) -> Codec:
    """Translate an annotation.

    Args:
        closed: in unions that are decoded by trying their members, refuse unknown members of
            objects. Elsewhere the caller checks for them (`schema/unknown_members.py`).

    Raises:
        TypeError: values of this type cannot be decoded from JSON; the message says why.
    """
    if is_plain(annotation):
        return Codec(annotation)
    translator = _Translator(strict, closed)
    native = translator.of(annotation)
    decoder_of(native, strict=False)
    return Codec(
        native,
        checked=translator.checked,
        lacks_defaults=translator.lacks_defaults,
        shares_defaults=translator.shares_defaults,
        uses_pydantic=translator.uses_pydantic,
        hidden=translator.hidden,
        patterns=translator.patterns,
    )


def with_defaults(value: Any, kind: Codec) -> Any:
    """Complete a decoded value: set the defaults of dataclasses, and copy mutable defaults."""
    if kind.lacks_defaults:
        set_defaults(value)
    return fresh_copy(value) if kind.shares_defaults else value


def set_defaults(value: Any) -> None:
    """Set the defaults of each dataclass in a value on its instance.

    msgspec leaves them on the class, and does not encode attributes that the instance lacks."""
    kind = cast(Any, type(value))
    if kind in _LEAVES:
        return
    inside: Any = ()
    if isinstance(value, list | tuple | set | frozenset):
        inside = value  # pyright: ignore[reportUnknownVariableType]
    elif isinstance(value, dict):
        inside = value.values()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    elif (defaults := _defaults_of(kind)) is not None:
        members = cast(dict[str, Any], vars(value))
        for name, default in defaults:
            members.setdefault(name, default)
        inside = list(members.values())
    for item in inside:
        set_defaults(item)


# Types without nested values, which are most of the values visited.
_LEAVES = frozenset({str, int, float, bool, NoneType, bytes})


@lru_cache(1024)
def _defaults_of(kind: type) -> tuple[tuple[str, Any], ...] | None:
    """Return the defaults of a dataclass with a `__dict__`; None for any other class."""
    if not is_dataclass(kind) or not kind.__dictoffset__:
        return None
    found = [(field.name, default_of_field(field)) for field in dataclass_fields(kind)]
    return tuple((name, default) for name, default in found if default is not MISSING)


class _Translator:
    """The translation of one annotation, which also collects the fields of its `Codec`."""

    def __init__(self, strict: bool, closed: bool) -> None:
        self._strict = strict
        self._closed = closed
        self.checked = False
        self.lacks_defaults = False
        self.shares_defaults = False
        self.uses_pydantic = False
        self.hidden: list[str] = []
        self.patterns: list[str] = []
        self._aliases: list[Any] = []
        self._seen: set[Any] = set()

    def of(self, annotation: Any) -> Any:
        """Translate a type to one that msgspec supports."""
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is Annotated:  # before any lookup: its metadata may not be hashable
            return self._annotated(annotation, args[0], read_metadata(args[1:]))
        named = self._named(annotation)
        if named is not None:
            return named
        if origin in _UNIONS:
            return self._union(args)
        if origin is Literal:
            return annotation
        if not args or fields_of(annotation) is not None:
            return self._class(annotation)
        translated = tuple(arg if arg is ... else self.of(arg) for arg in args)
        if origin in _READ_AS:
            return _READ_AS[origin][translated]
        return annotation if translated == args else origin[translated]

    def _named(self, annotation: Any) -> Any:
        """Translate a builtin type, a `NewType` or an alias; None for anything else."""
        try:
            if annotation in _DIRECT:
                return _DIRECT[annotation]
        except TypeError:
            if get_origin(annotation) is None:
                raise TypeError(f"{annotation!r} is not a type") from None
        if isinstance(annotation, NewType):
            return self.of(annotation.__supertype__)
        alias = alias_target(annotation)
        return None if alias is None else self._alias(annotation, alias)

    def _alias(self, annotation: Any, alias: Any) -> Any:
        if annotation in self._aliases:
            raise TypeError(f"{annotation} is an alias that contains itself")
        self._aliases.append(annotation)
        native = self.of(alias)
        self._aliases.pop()
        return native

    def _model(self, annotation: Any, name: str) -> Any:
        self.uses_pydantic = True
        return _hook_type(name, pydantic_models.reader_of(annotation, strict=self._strict))

    def _annotated(self, annotation: Any, base: Any, metadata: Metadata) -> Any:
        if metadata.pydantic_only is not None:
            return self._model(annotation, "Validated")
        self._collect_pattern(metadata)
        if metadata.meta is None:
            return self.of(base)
        if get_origin(base) in _UNIONS:
            return self._union(get_args(base), metadata.meta)
        return Annotated[self.of(base), metadata.meta]

    def _union(self, args: Sequence[Any], meta: msgspec.Meta | None = None) -> Any:
        members: list[Any] = [self.of(arg) for arg in args]
        if meta is not None:
            members = [_bounded(member, meta) for member in members]
        union: Any = Union[tuple(members)]  # noqa: UP007 - the members are in a list
        try:
            decoder_of(union, strict=False)
        except TypeError:
            return _hook_type(
                "Either", _UnionReader(members, self._checks(args), strict=self._strict)
            )
        return union

    def _checks(self, args: Sequence[Any]) -> "list[Callable[[bytes], Any] | None]":
        """Return a check for unknown members of objects for each member of a union, if needed."""
        if not self._closed:
            return [None for _ in args]
        from .unknown_members import unknown_checker  # noqa: PLC0415

        return [unknown_checker(arg, strict=False) for arg in args]

    def _class(self, annotation: Any) -> Any:
        if pydantic_models.is_model(annotation):
            return self._model(annotation, annotation.__name__)
        if annotation not in self._seen:
            self._seen.add(annotation)
            for field in fields_of(annotation) or ():
                self._inspect_type(field.type)
                self.lacks_defaults |= field.default is not MISSING
                self.shares_defaults |= is_mutable(field.default)
            self.hidden += hidden_fields(annotation)
        return annotation

    def _collect_pattern(self, metadata: Metadata) -> None:
        if "pattern" in metadata.bounds:
            self.patterns.append(metadata.bounds["pattern"])

    def _inspect_type(self, annotation: Any) -> None:
        """Inspect the type of a field, which msgspec decodes itself, for constraints it ignores."""
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            metadata = read_metadata(args[1:])
            if metadata.pydantic_only is not None:
                raise TypeError(
                    f"{metadata.pydantic_only!r} is only enforced in a pydantic model; make the "
                    "class that has it one"
                )
            self.checked |= metadata.foreign
            self._collect_pattern(metadata)
            self._inspect_type(args[0])
        elif isinstance(annotation, NewType):
            self._inspect_type(annotation.__supertype__)
        elif (alias := alias_target(annotation)) is not None:
            self._inspect_type(alias)
        elif origin is not Literal:
            for arg in args:
                self._inspect_type(arg)
            if not args or fields_of(annotation) is not None:
                self._class(annotation)


def _bounded(member: Any, meta: msgspec.Meta) -> Any:
    """Add a constraint to a member of a union, if msgspec allows it for this type."""
    bounded = Annotated[member, meta]
    try:
        decoder_of(bounded, strict=False)
    except TypeError:
        return member
    return bounded


class _UnionReader:
    """Decodes a union: the first member that fits, classes with fewest unknown members first."""

    def __init__(
        self,
        members: list[Any],
        checks: "list[Callable[[bytes], Any] | None]",
        *,
        strict: bool,
    ) -> None:
        self._members = members
        self._checks = checks
        self._modes = (True,) if strict else (True, False)
        self._known = [_field_names(member) for member in members]

    def __call__(self, value: Any) -> Any:
        likely = self._candidates(value)
        for strict in self._modes:
            for number in likely:
                try:
                    made = convert(value, self._members[number], strict=strict)
                    if (check := self._checks[number]) is not None:
                        check(write_mended(value))
                except msgspec.ValidationError:
                    continue
                return made
        names = " or ".join(getattr(member, "__name__", str(member)) for member in self._members)
        raise ValueError(f"expected {names}")

    def _candidates(self, value: Any) -> Sequence[int]:
        """Return the indexes of the members, in the order in which they are tried."""
        if not isinstance(value, dict):
            return range(len(self._members))
        names = cast(dict[str, Any], value).keys()
        unknown = [len(names - known) if known else 0 for known in self._known]
        return sorted(range(len(self._members)), key=unknown.__getitem__)


def _field_names(member: Any) -> frozenset[str]:
    return frozenset(field.name for field in fields_of(member) or ())
