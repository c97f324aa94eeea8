"""Python types as msgspec reads and writes them, and what it does not know by itself.

Most annotations pass through untouched. The others are translated, so that one decoder reads a
whole call: foreign constraints become msgspec's, unions that msgspec refuses become a type of our
own that tries one member after the other, and models are read by pydantic.
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
from .annotated import Notes, read_notes
from .fields import (
    MISSING,
    aliased,
    dataclass_fields,
    fields_of,
    given_default,
    hidden_fields,
    is_dataclass,
    is_path,
)
from .fresh_defaults import can_change, renewed

# Where the methods are that a plain function has in `ctx.sync`.
_CONTEXT = ("toolhaft/features/context.py", "toolhaft\\features\\context.py")
# What every decoder knows: nothing to translate and nothing to try.
PLAIN = frozenset({str, int, float, bool, type(None), None, Any, object, list, dict, bytes})
_SIMPLY: dict[Any, Any] = {
    **{plain: plain for plain in PLAIN},
    None: type(None),
    object: Any,
    LiteralString: str,
}
_BASES: tuple[Any, ...] = (str, int, float, bytes, dict, list, tuple)
_UNIONS = (Union, types.UnionType)
# What msgspec has no own idea of, and what is read instead.
_LIKE: dict[Any, Any] = {Iterable: list}


class _Anything(type):
    """msgspec asks whether what a hook made is of the type; here it always is."""

    def __instancecheck__(cls, value: object) -> bool:
        return True


class Made(metaclass=_Anything):
    """The base of types that are read by a function of ours."""

    read: Callable[[Any], Any]


def _made(name: str, read: Callable[[Any], Any]) -> type[Made]:
    return cast("type[Made]", _Anything(name, (Made,), {"read": staticmethod(read)}))


# Makes a value out of its text, and raises what decoders of msgspec raise.
Decode: TypeAlias = Callable[[msgspec.Raw | bytes], Any]


def text_reader_of(native: Any) -> Decode | None:
    """What reads a type from the text of a value, if that is quicker: models."""
    if not (isinstance(native, type) and issubclass(native, Made)):
        return None
    return native.read.of_text if isinstance(native.read, pydantic_models.Reader) else None


def reading_models(decode: Decode, natives: Mapping[str, Any]) -> Decode:
    """A decoder of structs that also reads their fields of these types which it has left raw, since
    they are models: to decode those only to encode them for pydantic takes as long again."""
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
    """How msgspec reads a type that it does not know."""
    origin = get_origin(kind)
    if origin is not None:
        return convert(value, _LIKE[origin][get_args(kind)], strict=False)
    if kind is object:
        return value
    if issubclass(kind, Made):
        return kind.read(value)
    if is_path(kind):
        if not isinstance(value, str):
            raise ValueError("Expected `str`")
        return kind(value)
    if pydantic_models.is_model(kind):
        return pydantic_models.reader_of_class(kind)(value)
    raise NotImplementedError(kind)  # which is how a hook says that it does not know a type


def write_hook(value: Any) -> Any:
    """How msgspec writes a value that it does not know."""
    kind = cast(Any, type(value))
    if is_path(kind):
        return str(value)
    if kind is range:
        return list(value)
    for base in _BASES:  # what is a str by another name is a str
        if isinstance(value, base) and kind is not base:
            return base(value)
    if pydantic_models.is_model(kind):
        return pydantic_models.dumped(value)
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
    """What to do with a coroutine that was returned as it is. It is closed, for nobody will."""
    coroutine.close()
    owner, _, name = coroutine.__qualname__.rpartition(".")
    if owner == "Context" and coroutine.cr_code.co_filename.endswith(_CONTEXT):
        return f"await it, or write ctx.sync.{name}(…) in a plain def"
    return "await it"


def decoder_of(native: Any, *, strict: bool) -> "msgspec.json.Decoder[Any]":
    """What reads this type from JSON text."""
    return msgspec.json.Decoder(native, strict=strict, dec_hook=read_hook)


def convert(value: Any, native: Any, *, strict: bool) -> Any:
    """The same for JSON that was read before."""
    return msgspec.convert(value, native, strict=strict, dec_hook=read_hook, str_keys=True)


write = msgspec.json.Encoder(enc_hook=write_hook).encode


def write_mended(value: Any) -> bytes:
    """The same, with U+FFFD for each half of a surrogate pair, which UTF-8 cannot hold."""
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


# How msgspec says that it is about the name of a member, and not about its value.
_KEY = "key` in `"


# What a reader has against a value: as it says it, or by the places in the value.
Objection: TypeAlias = str | Sequence[tuple[str, str]]


def objection(error: msgspec.ValidationError) -> Objection:
    """What is in an error. The error itself would keep alive all that was read."""
    cause = error.__cause__
    return cause.problems if isinstance(cause, pydantic_models.Refusal) else str(error)


def in_words(error: msgspec.ValidationError) -> list[str]:
    """What a reader has against a value, one line each: the place in the value, and the words."""
    return worded(objection(error))


def worded(found: Objection) -> list[str]:
    """The same for what was in an error."""
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
    """An annotation, as msgspec takes it."""

    native: Any
    # Some constraint is inside of a class of the author's, where msgspec does not see it.
    checked: bool = False
    # There is a dataclass whose defaults msgspec does not put into the object.
    lacks_defaults: bool = False
    # There is a class with a default that all of its objects would share, and could alter.
    shares_defaults: bool = False
    # pydantic has a part in it.
    modelled: bool = False
    # Fields that are not for callers, though msgspec would let them set them.
    hidden: list[str] = []
    # The patterns that msgspec matches texts with.
    patterns: list[str] = []


def is_plain(annotation: Any) -> bool:
    """Is this a type that everybody knows?"""
    try:
        return annotation in PLAIN and annotation is not object
    except TypeError:  # not even hashable: others will have something to say to that
        return False


def codec_of(annotation: Any, *, strict: bool = False, closed: bool = False) -> Codec:
    """Translate an annotation.

    Args:
        closed: where a value may be of several classes, unknown members are refused. Elsewhere it
            is up to the caller to look for them (`schema/unknown_members.py`).

    Raises:
        TypeError: nobody can read a value of this type from JSON; the message says why.
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
        modelled=translator.modelled,
        hidden=translator.hidden,
        patterns=translator.patterns,
    )


def finished(value: Any, kind: Codec) -> Any:
    """A value that msgspec has made of this annotation, with defaults of its own."""
    if kind.lacks_defaults:
        put_defaults(value)
    return renewed(value) if kind.shares_defaults else value


def put_defaults(value: Any) -> None:
    """Give each dataclass in a value the defaults that msgspec leaves to the class, for what is not
    in the object itself is not written either."""
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
        put_defaults(item)


# Most values that are met have nothing inside.
_LEAVES = frozenset({str, int, float, bool, NoneType, bytes})


@lru_cache(1024)
def _defaults_of(kind: type) -> tuple[tuple[str, Any], ...] | None:
    """The defaults of a dataclass whose objects have a dict; None if it is no such class."""
    if not is_dataclass(kind) or not kind.__dictoffset__:
        return None
    found = [(field.name, given_default(field)) for field in dataclass_fields(kind)]
    return tuple((name, default) for name, default in found if default is not MISSING)


class _Translator:
    def __init__(self, strict: bool, closed: bool) -> None:
        self._strict = strict
        self._closed = closed
        self.checked = False
        self.lacks_defaults = False
        self.shares_defaults = False
        self.modelled = False
        self.hidden: list[str] = []
        self.patterns: list[str] = []
        self._aliases: list[Any] = []
        self._seen: set[Any] = set()

    def of(self, annotation: Any) -> Any:
        """The same type, in terms that msgspec knows."""
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is Annotated:  # whose notes may be anything
            return self._annotated(annotation, args[0], read_notes(args[1:]))
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
        if origin in _LIKE:
            return _LIKE[origin][translated]
        return annotation if translated == args else origin[translated]

    def _named(self, annotation: Any) -> Any:
        """What is known by name, or is a name for something else; None if it is neither."""
        try:
            if annotation in _SIMPLY:
                return _SIMPLY[annotation]
        except TypeError:
            if get_origin(annotation) is None:
                raise TypeError(f"{annotation!r} is not a type") from None
        if isinstance(annotation, NewType):
            return self.of(annotation.__supertype__)
        alias = aliased(annotation)
        return None if alias is None else self._alias(annotation, alias)

    def _alias(self, annotation: Any, alias: Any) -> Any:
        if annotation in self._aliases:
            raise TypeError(f"{annotation} is an alias that contains itself")
        self._aliases.append(annotation)
        native = self.of(alias)
        self._aliases.pop()
        return native

    def _model(self, annotation: Any, name: str) -> Any:
        self.modelled = True
        return _made(name, pydantic_models.reader_of(annotation, strict=self._strict))

    def _annotated(self, annotation: Any, base: Any, notes: Notes) -> Any:
        if notes.beyond is not None:
            return self._model(annotation, "Validated")
        self._note_pattern(notes)
        if notes.meta is None:
            return self.of(base)
        if get_origin(base) in _UNIONS:
            return self._union(get_args(base), notes.meta)
        return Annotated[self.of(base), notes.meta]

    def _union(self, args: Sequence[Any], meta: msgspec.Meta | None = None) -> Any:
        members: list[Any] = [self.of(arg) for arg in args]
        if meta is not None:
            members = [_bounded(member, meta) for member in members]
        union: Any = Union[tuple(members)]  # noqa: UP007 - the members are in a list
        try:
            decoder_of(union, strict=False)
        except TypeError:
            return _made("Either", _Either(members, self._checks(args), strict=self._strict))
        return union

    def _checks(self, args: Sequence[Any]) -> "list[Callable[[bytes], Any] | None]":
        """For each member of a union, what finds unknown members of objects, if they matter."""
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
                self._look_into(field.type)
                self.lacks_defaults |= field.default is not MISSING
                self.shares_defaults |= can_change(field.default)
            self.hidden += hidden_fields(annotation)
        return annotation

    def _note_pattern(self, notes: Notes) -> None:
        if "pattern" in notes.bounds:
            self.patterns.append(notes.bounds["pattern"])

    def _look_into(self, annotation: Any) -> None:
        """msgspec reads the fields of a class by itself: is there something that it overlooks?"""
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            notes = read_notes(args[1:])
            if notes.beyond is not None:
                raise TypeError(
                    f"{notes.beyond!r} is only enforced in a pydantic model; make the class that "
                    "has it one"
                )
            self.checked |= notes.foreign
            self._note_pattern(notes)
            self._look_into(args[0])
        elif isinstance(annotation, NewType):
            self._look_into(annotation.__supertype__)
        elif (alias := aliased(annotation)) is not None:
            self._look_into(alias)
        elif origin is not Literal:
            for arg in args:
                self._look_into(arg)
            if not args or fields_of(annotation) is not None:
                self._class(annotation)


def _bounded(member: Any, meta: msgspec.Meta) -> Any:
    """A member of a union with a constraint, if it is one that can have it."""
    bounded = Annotated[member, meta]
    try:
        decoder_of(bounded, strict=False)
    except TypeError:
        return member
    return bounded


class _Either:
    """Reads one of several members: the first that fits; of several objects, the one that knows
    most of what was given."""

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
        likely = self._likely(value)
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

    def _likely(self, value: Any) -> Sequence[int]:
        """The numbers of the members, in the order in which they are tried."""
        if not isinstance(value, dict):
            return range(len(self._members))
        names = cast(dict[str, Any], value).keys()
        unknown = [len(names - known) if known else 0 for known in self._known]
        return sorted(range(len(self._members)), key=unknown.__getitem__)


def _field_names(member: Any) -> frozenset[str]:
    return frozenset(field.name for field in fields_of(member) or ())
