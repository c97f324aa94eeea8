"""The signature of a function: its parameters, their decoder, their schema.

The raw arguments of a call are decoded in one pass (`decoding.py`). Arguments that fail it are
bound a second time, one by one, which converts more and collects every problem.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import asdict

from ...encoding.envelope import is_null
from ...encoding.json_bounds import TooMuch
from ...encoding.json_members import is_each_once, repeated
from ...errors import InvalidParams, ParseError, clipped, shown
from ...schema.codecs import (
    Codec,
    Decode,
    DecodingProblems,
    codec_of,
    convert,
    decoding_problems,
    error_lines,
    is_plain,
    problem_lines,
    with_defaults,
    write_hook,
)
from ...schema.fields import MISSING
from ...schema.from_types import JSON_TYPES_ADVICE, Schema, object_schema, schema_of
from ..author_checks import documentation
from ..lazy_validation import (
    Explicit,
    UnknownMembers,
    longest_match,
    problems,
    unpacked,
)
from .call_style import call_style_of, value_type_of, without_questions
from .decoding import SingleArgumentDecoder, decoder_of_all
from .large_arguments import ArgumentLimits
from .mirrored_headers import is_marked
from .parameters import Parameter, parameters_of

# End of the error message for `**arguments` where the schema is derived from annotations.
NO_SCHEMA = "has no schema; name each argument, take one dict, or pass input_schema="
_NOTHING = Raw(b"{}")
# Length in bytes up to which repeated names are detected by counting colons, and the number of
# parameters up to which longer arguments are searched for each name.
_SHORT = 256
_FEW = 3
# Length in bytes above which arguments are decoded on a worker thread, unless all types are light.
_LARGE = 16_384
# Unknown arguments named in an error.
_MOST_UNKNOWN = 20
_decode_anything = msgspec.json.Decoder().decode


class BadArguments(Exception):
    """The arguments of a call are invalid; one line per problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class LargeArguments(Exception):
    """The arguments of a call may be slow to decode; use `bind_large` on a worker thread."""


class Signature:
    """A function with the decoder and the schema of its arguments."""

    # Slots and no `cached_property`: attributes of an instance dict are slower to read.
    __slots__ = (
        "_accepted_schema",
        "_checked",
        "_codecs",
        "_decode",
        "_explicit",
        "_large_size",
        "_limits",
        "_only",
        "_quoted_names",
        "_required",
        "_rest",
        "_schema",
        "_strict",
        "_unconverted",
        "_unfinished",
        "_unknown_members",
        "_with_inner_defaults",
        "asked_parameters",
        "call_style",
        "contexts",
        "dependencies",
        "documentation",
        "function",
        "has_rounds",
        "headers",
        "is_marked",
        "is_returned",
        "parameters",
        "returns",
        "what",
    )  # fmt: skip

    def __init__(
        self,
        function: Callable[..., Any],
        what: str,
        *,
        explicit: Explicit | None = None,
        option: str = "input_schema",
        strict: bool = False,
        rest: str | None = NO_SCHEMA,
    ) -> None:
        """
        Args:
            explicit: the author's schema of the arguments, given by `option`.
            rest: end of the error message for `**arguments` without a schema; None allows them.
        """
        self.function = function
        self.what = what
        found = parameters_of(function, what)
        if found.rest and explicit is None and rest is not None:
            raise TypeError(f"{what}: **{found.names[-1]} {rest}")
        if explicit is None and found.rest_type not in (str, Any, object):
            kind = getattr(found.rest_type, "__name__", found.rest_type)
            raise TypeError(
                f"{what}: **{found.names[-1]} has its values as str, not as {kind}; annotate it as "
                "str, and give each value that is to be converted a parameter of its own"
            )
        self.parameters = found.given
        self.contexts = found.contexts
        self.dependencies = found.dependencies
        self.headers = found.headers
        self.asked_parameters = found.asked_parameters
        self.documentation = documentation(function, found.names, what)
        self.call_style = call_style_of(function)
        returns, self.is_returned = value_type_of(found.returns, self.call_style)
        # Whether it handles rounds itself, by returning `InputRequired`.
        self.returns, self.has_rounds = without_questions(returns)
        self._explicit = explicit
        self._rest = found.rest
        # To detect repeated names quickly: the number of required arguments, and the quoted names
        # if there are few. Not with an author's schema, which may allow other names.
        self._required = -1
        self._quoted_names: list[bytes] = []
        if explicit is None:
            self._required = sum(parameter.required for parameter in found.given)
            if len(found.given) <= _FEW:
                self._quoted_names = [b'"%b"' % each.name.encode() for each in found.given]
        self._strict = strict
        # Whether an argument is passed on without conversion.
        self._unconverted = found.rest or any(each.type is Any for each in found.given)
        if explicit is not None:
            self._check_schema(explicit.schema, option)
        # Whether a header mirrors an argument, or a part of one.
        self.is_marked = False
        self._large_size = _LARGE
        self._codecs = {each.name: self._codec(each) for each in self.parameters}
        self._limits = ArgumentLimits(self.parameters, self._codecs)
        # Whether a type needs checks by JSON Schema, and arguments that need defaults inside.
        self._checked = any(codec.checked for codec in self._codecs.values())
        self._with_inner_defaults = [
            name for name, codec in self._codecs.items() if codec.lacks_defaults
        ]
        self._unfinished = self._checked or bool(self._with_inner_defaults) or explicit is not None
        self._decode: Decode = self._decode_first
        # The shorter decoder of a function with one parameter.
        self._only: SingleArgumentDecoder | None = None
        if len(self.parameters) == 1 and not (self._unfinished or self._rest):
            (only,) = self.parameters
            self._only = SingleArgumentDecoder(only, self._codecs[only.name], strict=strict)
        types = {each.name: each.type for each in self.parameters}
        self._unknown_members = UnknownMembers(types, strict=strict)
        # Derived on first use.
        given = None if explicit is None else explicit.schema
        self._schema = self._accepted_schema = given

    @property
    def schema(self) -> Schema:
        """The schema of the arguments, as an object."""
        if self._schema is None:
            self._schema = self._derive_schema(published=True)
        return self._schema

    @property
    def _accepted(self) -> Schema:
        """The schema for validation, which accepts more than the published one."""
        if self._accepted_schema is None:
            self._accepted_schema = self._derive_schema(published=False)
        return self._accepted_schema

    def _derive_schema(self, *, published: bool) -> Schema:
        said = {p.name: self.description_of(p) for p in self.parameters} if published else {}
        return object_schema(
            ((p.name, p.type, said.get(p.name), p.default) for p in self.parameters),
            [p.name for p in self.parameters if p.required],
            published=published,
        )

    def description_of(self, parameter: Parameter) -> str | None:
        """Return the description of a parameter from its annotation, or else the docstring."""
        if parameter.description is not None:
            return parameter.description
        return self.documentation.parameters.get(parameter.name)

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of this name, if there is one."""
        return next((p for p in self.parameters if p.name == name), None)

    def bind(self, raw: Raw | UnsetType) -> dict[str, Any]:
        """Decode the keyword arguments of a call.

        Raises:
            BadArguments: they do not fit the parameters.
            LargeArguments: they have to be decoded on a worker thread.
            InvalidParams: they are no object, or a name is repeated.
            ParseError: they are not JSON.
        """
        if raw is UNSET or (len(raw) == 4 and is_null(raw)):
            raw = _NOTHING
        elif len(raw) > self._large_size and self._is_heavy:
            raise LargeArguments
        text = bytes(raw)
        only, unfinished = self._only, self._unfinished
        if only is not None and (inside := only.text_in(text)) is not None:
            try:
                return {only.name: only.decode(inside)}
            except (msgspec.MsgspecError, UnicodeError, RecursionError):
                unfinished = True  # `_bind_slowly` finds the cause
        # Each member has a colon. If there are as many colons as required arguments, then either
        # each is there once, or one is missing, which the decoder detects.
        if len(text) > _SHORT:
            if not self._quoted_names or not is_each_once(text, self._quoted_names):
                _check_repeated(raw)
        elif text.count(b":") != self._required:
            _check_repeated(raw)
        if not unfinished:
            decode = self._decode
            try:
                return asdict(decode(raw))
            except (msgspec.MsgspecError, UnicodeError, RecursionError):
                pass  # `_bind_slowly` finds the cause
        return self._bind_slowly(raw)

    def _bind_slowly(self, raw: Raw) -> dict[str, Any]:
        """Decode, validate and fill in defaults in separate steps."""
        try:
            if self._explicit is not None:
                return self._bind_by_schema(_require_object(_decode_anything(raw)))
            try:
                arguments = asdict(self._decode(raw))
            except msgspec.ValidationError:
                return self._convert_each(_require_object(_decode_anything(raw)))
            if self._checked:
                self._check(_decode_anything(raw))
            self._fill_inner_defaults(arguments)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ParseError(f"the arguments are not JSON: {clipped(str(error))}") from None
        return arguments

    @property
    def _is_heavy(self) -> bool:
        """Whether large arguments may be slow to decode: not if all are numbers and strings."""
        if self._explicit is not None or self._checked:
            return True
        return not self._limits.is_light

    def bind_large(self, raw: Raw) -> dict[str, Any]:
        """Do the same as `bind` for large arguments, on a worker thread.

        Raises:
            BadArguments: also for an argument over its limit, which the message names.
        """
        _check_repeated(raw)
        try:
            if self._limits.is_bounded:
                self._check_limits(_require_object(_decode_anything(raw)))
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ParseError(f"the arguments are not JSON: {clipped(str(error))}") from None
        return self._bind_slowly(raw)

    def _check_limits(self, given: Mapping[str, Any]) -> None:
        if found := self._limits.problems(given):
            raise BadArguments(found)

    @staticmethod
    def read(raw: Raw | UnsetType) -> dict[str, Any]:
        """Return the arguments as plain JSON values, after `bind` has accepted them."""
        if raw is UNSET or (len(raw) == 4 and is_null(raw)):
            return {}
        return _require_object(_decode_anything(raw))

    def bind_strings(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Convert arguments that are strings: of a prompt, or of a URI template.

        Raises:
            BadArguments: they do not fit the parameters.
        """
        if sum(map(len, values.values())) > self._large_size:
            self._check_limits(values)
        if not self._rest:
            return self._convert_each(values)
        known = {name: value for name, value in values.items() if name in self._codecs}
        return {**values, **self._convert_each(known)}

    @property
    def has_rest(self) -> bool:
        """Whether the function takes `**arguments`."""
        return self._rest

    def _codec(self, parameter: Parameter) -> Codec:
        try:
            if not is_plain(parameter.type):
                self.is_marked |= is_marked(schema_of(parameter.type, given=True))
            codec = codec_of(parameter.type, strict=self._strict, closed=self._explicit is None)
        except (TypeError, ValueError, RecursionError, re.error) as error:
            raise TypeError(
                f"{self.what}: parameter {parameter.name!r}: {error or 'a type without an end'}; "
                f"{JSON_TYPES_ADVICE}"
            ) from None
        try:
            if codec.patterns and (longest := longest_match(codec.patterns)) is not None:
                self._large_size = min(self._large_size, longest)
        except (ValueError, RecursionError, re.error) as error:
            raise TypeError(f"{self.what}: parameter {parameter.name!r}: {error}") from None
        self._check_default(parameter, codec)
        if codec.hidden:
            raise TypeError(
                f"{self.what}: parameter {parameter.name!r}: a client could set "
                f"{codec.hidden[0]}, which is not for callers (init=False); take a class without it"
            )
        return codec

    def _check_default(self, parameter: Parameter, codec: Codec) -> None:
        """Check the type of a default. One that JSON cannot express is not checked."""
        default = parameter.default
        if default is None or default is MISSING or type(default) is codec.native:
            return
        try:
            plain = msgspec.to_builtins(default, enc_hook=write_hook)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return
        try:
            convert(plain, codec.native, strict=True)
        except msgspec.ValidationError as error:
            words = "; ".join(error_lines(error)).removeprefix(": ")
            raise TypeError(
                f"{self.what}: parameter {parameter.name!r}: its default {default!r} does not fit "
                f"its type: {words}"
            ) from None

    def _check_schema(self, schema: Schema, option: str) -> None:
        """Check that the function takes all arguments that an author's schema allows."""
        properties: dict[str, Any] = schema.get("properties", {})
        known = {parameter.name for parameter in self.parameters}
        if not self._rest and (unknown := properties.keys() - known):
            raise TypeError(
                f"{self.what}: {option} has {', '.join(sorted(unknown))}, for which the "
                "function has no parameter; add it, or take **arguments"
            )
        needed = {parameter.name for parameter in self.parameters if parameter.required}
        if missing := needed - (properties.keys() & set(schema.get("required", ()))):
            raise TypeError(
                f"{self.what}: {option} does not require {', '.join(sorted(missing))}, which the "
                "function needs; require it there, or give the parameter a default"
            )

    def _decode_first(self, raw: Raw | bytes) -> Any:
        """Make the decoder on the first call: a server may have thousands of tools."""
        self._decode = decoder_of_all(self.parameters, self._codecs, strict=self._strict)
        return self._decode(raw)

    def _check(self, given: Any) -> None:
        lenient = not (self._strict or self._unconverted)
        if self._explicit is not None:
            found = self._explicit.problems(given, lenient=lenient)
        else:
            found = problems(given, self._accepted, lenient=lenient)
        if found:
            raise BadArguments(found)

    def _bind_by_schema(self, given: dict[str, Any]) -> dict[str, Any]:
        self._check(given)
        known = {name: value for name, value in given.items() if name in self._codecs}
        if not self._rest and len(known) < len(given):
            unknown = self._unknown(given)
            raise BadArguments([f"{clipped(name)}: unknown argument" for name in unknown])
        arguments = self._convert_each(known)
        return {**given, **arguments} if self._rest else arguments

    def _convert_each(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the arguments one by one, also JSON in strings, which some clients send."""
        arguments: dict[str, Any] = {}
        wrong: dict[str, DecodingProblems] = dict.fromkeys(
            self._unknown(given), (("", "unknown argument"),)
        )
        for parameter in self.parameters:
            name = parameter.name
            try:
                if name in given:
                    arguments[name] = self._read(name, given[name])
                elif parameter.required:
                    wrong[name] = (("", "missing"),)
                else:
                    arguments[name] = default_value(parameter)
            except msgspec.ValidationError as error:
                wrong[name] = decoding_problems(error)
        if wrong:
            raise BadArguments(self._problem_lines(dict(given), wrong))
        if self._checked:
            self._check(given)
        self._fill_inner_defaults(arguments)
        return arguments

    def _unknown(self, given: Mapping[str, Any]) -> Iterator[str]:
        return islice((name for name in given if name not in self._codecs), _MOST_UNKNOWN)

    def _read(self, name: str, value: Any) -> Any:
        try:
            return self._converted(name, value)
        except msgspec.ValidationError:
            if self._strict:
                raise
            members: Schema = self._accepted.get("properties", {})
            inside = unpacked(value, members.get(name, {}), self._accepted)
            if inside == value:
                raise
            self._check_limits({name: inside})
            return self._converted(name, inside)

    def _converted(self, name: str, value: Any) -> Any:
        made = convert(value, self._codecs[name].native, strict=self._strict)
        if self._explicit is None:  # an author's schema has its own rules for unknown members
            self._unknown_members.check(name, value)
        return made

    def _problem_lines(
        self, given: dict[str, Any], wrong: Mapping[str, DecodingProblems]
    ) -> list[str]:
        """Return the problems by the schema, and the decoder's messages for names without one."""
        found = problems(given, self._accepted, lenient=not self._strict, refused=True)
        for name, against in wrong.items():
            # An unknown name may be quoted in the line, so any line counts.
            known = (f"{name}:", f"{name}.", f"{name}[") if name in self._codecs else ("",)
            if not any(line.startswith(known) for line in found):
                found += [clipped(name) + line for line in problem_lines(against)]
        return found

    def _fill_inner_defaults(self, arguments: dict[str, Any]) -> None:
        for name in self._with_inner_defaults:
            arguments[name] = with_defaults(arguments[name], self._codecs[name])


def default_value(parameter: Parameter) -> Any:
    """Return the default of a parameter, a new one if it has a factory."""
    return parameter.default if parameter.default_factory is None else parameter.default_factory()


def _check_repeated(raw: Raw) -> None:
    try:
        twice = repeated(raw)
    except TooMuch as error:
        raise InvalidParams(f"params.arguments: {error}") from None
    if twice is not None:
        raise InvalidParams(
            f"params.arguments: the member {shown(twice)} stands twice; send it once"
        )


def _require_object(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidParams("params.arguments: expected an object")
    return given  # pyright: ignore[reportUnknownVariableType]
