"""A function as the protocol sees it: its parameters, their decoder, their schema.

The raw arguments of a call are read in one pass (`features/decoding.py`). Only what does not pass
is looked at a second time, slowly, to say everything that is wrong with it.
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
    Decode,
    Kind,
    Objection,
    convert,
    finished,
    in_words,
    is_plain,
    kind_of,
    objection,
    worded,
    write_hook,
)
from ...schema.fields import MISSING
from ...schema.from_types import CARRIED, Schema, object_schema, schema_of
from ..author_checks import documentation
from ..lazy_validation import (
    Explicit,
    UnknownMembers,
    longest_match,
    problems,
    unpacked,
)
from .call_style import manner_of, value_of, without_questions
from .decoding import Only, decoder_of_all
from .large_arguments import Admission
from .mirrored_headers import is_marked
from .parameters import Parameter, parameters_of

# Why `**arguments` are refused, and what to do, where a schema is made of the annotations.
NO_SCHEMA = "has no schema; name each argument, take one dict, or pass input_schema="
_NOTHING = Raw(b"{}")
# In arguments of this length it is quicker to count colons than to look for their names.
_SHORT = 256
_FEW = 3
# Longer arguments are read on a thread, unless they are of types that are quick to read.
_LARGE = 16_384
# So many are told of, at most.
_MOST_UNKNOWN = 20
_decode_anything = msgspec.json.Decoder().decode


class BadArguments(Exception):
    """The arguments of a call do not fit; one line per problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class LargeArguments(Exception):
    """The arguments of a call may take long to read; `bind_large` reads them."""


class Signature:
    """How a function is called with what came over the wire."""

    # No dict, which `cached_property` would need: members of it are slow to read for ever after.
    __slots__ = (
        "_accepted_schema",
        "_admission",
        "_checked",
        "_decode",
        "_explicit",
        "_kinds",
        "_lacking",
        "_large",
        "_only",
        "_required",
        "_rest",
        "_schema",
        "_spelled",
        "_strict",
        "_unfinished",
        "_unknown_members",
        "_unread",
        "contexts",
        "dependencies",
        "documentation",
        "function",
        "has_rounds",
        "headers",
        "inquired",
        "is_marked",
        "is_returned",
        "manner",
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
            explicit: the author's schema of the arguments, given by this option.
            rest: why `**arguments` are refused where there is no such schema; None if they are not.
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
        self.inquired = found.inquired
        self.documentation = documentation(function, found.names, what)
        self.manner = manner_of(function)
        returns, self.is_returned = value_of(found.returns, self.manner)
        # Does it handle rounds of questions itself?
        self.returns, self.has_rounds = without_questions(returns)
        self._explicit = explicit
        self._rest = found.rest
        # To see that no argument stands twice: how many must be given, and all names if they are
        # few. An author's schema may allow others.
        self._required = -1
        self._spelled: list[bytes] = []
        if explicit is None:
            self._required = sum(parameter.required for parameter in found.given)
            if len(found.given) <= _FEW:
                self._spelled = [b'"%b"' % each.name.encode() for each in found.given]
        self._strict = strict
        # Is something handed on as it came, and not converted?
        self._unread = found.rest or any(each.type is Any for each in found.given)
        if explicit is not None:
            self._match(explicit.schema, option)
        # Does a header repeat one of the arguments, or a part of one?
        self.is_marked = False
        self._large = _LARGE
        self._kinds = {each.name: self._kind(each) for each in self.parameters}
        self._admission = Admission(self.parameters, self._kinds)
        # Does msgspec leave something for us to do?
        self._checked = any(kind.checked for kind in self._kinds.values())
        self._lacking = [name for name, kind in self._kinds.items() if kind.lacks_defaults]
        self._unfinished = self._checked or bool(self._lacking) or explicit is not None
        self._decode: Decode = self._decode_first
        # Reads the only argument, where there is one.
        self._only: Only | None = None
        if len(self.parameters) == 1 and not (self._unfinished or self._rest):
            (only,) = self.parameters
            self._only = Only(only, self._kinds[only.name], strict=strict)
        types = {each.name: each.type for each in self.parameters}
        self._unknown_members = UnknownMembers(types, strict=strict)
        # Made when somebody wants to see them.
        given = None if explicit is None else explicit.schema
        self._schema = self._accepted_schema = given

    @property
    def schema(self) -> Schema:
        """The schema of the arguments, as an object."""
        if self._schema is None:
            self._schema = self._derived(published=True)
        return self._schema

    @property
    def _accepted(self) -> Schema:
        """The same for our own checks: the schema of all that is accepted."""
        if self._accepted_schema is None:
            self._accepted_schema = self._derived(published=False)
        return self._accepted_schema

    def _derived(self, *, published: bool) -> Schema:
        said = {p.name: self.description_of(p) for p in self.parameters} if published else {}
        return object_schema(
            ((p.name, p.type, said.get(p.name), p.default) for p in self.parameters),
            [p.name for p in self.parameters if p.required],
            published=published,
        )

    def description_of(self, parameter: Parameter) -> str | None:
        """What a parameter is for: by its annotation, or else by the docstring."""
        if parameter.description is not None:
            return parameter.description
        return self.documentation.parameters.get(parameter.name)

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of this name, if there is one."""
        return next((p for p in self.parameters if p.name == name), None)

    def bind(self, raw: Raw | UnsetType) -> dict[str, Any]:
        """The keyword arguments of a call.

        Raises:
            BadArguments: they are not what the function takes.
            LargeArguments: they have to be read elsewhere than on the event loop.
            InvalidParams: they are no object, or one of them stands twice.
            ParseError: they are not JSON.
        """
        if raw is UNSET or (len(raw) == 4 and is_null(raw)):
            raw = _NOTHING
        elif len(raw) > self._large and self._is_heavy:
            raise LargeArguments
        text = bytes(raw)
        only, unfinished = self._only, self._unfinished
        if only is not None and (inside := only.text_in(text)) is not None:
            try:
                return {only.name: only.decode(inside)}
            except (msgspec.MsgspecError, UnicodeError, RecursionError):
                unfinished = True  # what it is about is found out below
        # Each member has a colon. As many colons as there are arguments that must be given: either
        # each of these stands there once, or one is missing, which the decoder finds.
        if len(text) > _SHORT:
            if not self._spelled or not is_each_once(text, self._spelled):
                _check_names(raw)
        elif text.count(b":") != self._required:
            _check_names(raw)
        if not unfinished:
            decode = self._decode
            try:
                return asdict(decode(raw))
            except (msgspec.MsgspecError, UnicodeError, RecursionError):
                pass  # what it is about is found out below
        return self._bound(raw)

    def _bound(self, raw: Raw) -> dict[str, Any]:
        """The same, step by step."""
        try:
            if self._explicit is not None:
                return self._bind_by_schema(_object(_decode_anything(raw)))
            try:
                arguments = asdict(self._decode(raw))
            except msgspec.ValidationError:
                return self._look_again(_object(_decode_anything(raw)))
            if self._checked:
                self._check(_decode_anything(raw))
            self._finish(arguments)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ParseError(f"the arguments are not JSON: {clipped(str(error))}") from None
        return arguments

    @property
    def _is_heavy(self) -> bool:
        """May it take long to read large arguments? Not if all of them are numbers and texts."""
        if self._explicit is not None or self._checked:
            return True
        return not self._admission.is_light

    def bind_large(self, raw: Raw) -> dict[str, Any]:
        """The same as `bind` for large arguments, on a worker thread.

        Raises:
            BadArguments: also for what would take too long to read; the message names the bound.
        """
        _check_names(raw)
        try:
            if self._admission.is_bounded:
                self._admit(_object(_decode_anything(raw)))
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ParseError(f"the arguments are not JSON: {clipped(str(error))}") from None
        return self._bound(raw)

    def _admit(self, given: Mapping[str, Any]) -> None:
        if found := self._admission.problems(given):
            raise BadArguments(found)

    @staticmethod
    def read(raw: Raw | UnsetType) -> dict[str, Any]:
        """The arguments of a call as they came, once `bind` has found nothing wrong with them."""
        if raw is UNSET or (len(raw) == 4 and is_null(raw)):
            return {}
        return _object(_decode_anything(raw))

    def bind_strings(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The same for arguments that came as strings: of a prompt, or out of a URI.

        Raises:
            BadArguments: they are not what the function takes.
        """
        if sum(map(len, values.values())) > self._large:
            self._admit(values)
        if not self._rest:
            return self._look_again(values)
        known = {name: value for name, value in values.items() if name in self._kinds}
        return {**values, **self._look_again(known)}

    @property
    def has_rest(self) -> bool:
        """Does the function take `**arguments`, whatever their names?"""
        return self._rest

    def _kind(self, parameter: Parameter) -> Kind:
        try:
            if not is_plain(parameter.type):
                self.is_marked |= is_marked(schema_of(parameter.type, given=True))
            kind = kind_of(parameter.type, strict=self._strict, closed=self._explicit is None)
        except (TypeError, ValueError, RecursionError, re.error) as error:
            raise TypeError(
                f"{self.what}: parameter {parameter.name!r}: {error or 'a type without an end'}; "
                f"{CARRIED}"
            ) from None
        try:
            if kind.patterns and (longest := longest_match(kind.patterns)) is not None:
                self._large = min(self._large, longest)
        except (ValueError, RecursionError, re.error) as error:
            raise TypeError(f"{self.what}: parameter {parameter.name!r}: {error}") from None
        self._check_default(parameter, kind)
        if kind.hidden:
            raise TypeError(
                f"{self.what}: parameter {parameter.name!r}: a client could set "
                f"{kind.hidden[0]}, which is not for callers (init=False); take a class without it"
            )
        return kind

    def _check_default(self, parameter: Parameter, kind: Kind) -> None:
        """A default that is JSON has to be of its type; what is not JSON is the author's secret."""
        default = parameter.default
        if default is None or default is MISSING or type(default) is kind.native:
            return
        try:
            plain = msgspec.to_builtins(default, enc_hook=write_hook)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return
        try:
            convert(plain, kind.native, strict=True)
        except msgspec.ValidationError as error:
            words = "; ".join(in_words(error)).removeprefix(": ")
            raise TypeError(
                f"{self.what}: parameter {parameter.name!r}: its default {default!r} does not fit "
                f"its type: {words}"
            ) from None

    def _match(self, schema: Schema, option: str) -> None:
        """What an author's schema, given by this option, lets through has to be what the function
        takes."""
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
        """The decoder is made with the first call: a server may have thousands of tools."""
        self._decode = decoder_of_all(self.parameters, self._kinds, strict=self._strict)
        return self._decode(raw)

    def _check(self, given: Any) -> None:
        lenient = not (self._strict or self._unread)
        if self._explicit is not None:
            found = self._explicit.problems(given, lenient=lenient)
        else:
            found = problems(given, self._accepted, lenient=lenient)
        if found:
            raise BadArguments(found)

    def _bind_by_schema(self, given: dict[str, Any]) -> dict[str, Any]:
        self._check(given)
        known = {name: value for name, value in given.items() if name in self._kinds}
        if not self._rest and len(known) < len(given):
            unknown = self._unknown(given)
            raise BadArguments([f"{clipped(name)}: unknown argument" for name in unknown])
        arguments = self._look_again(known)
        return {**given, **arguments} if self._rest else arguments

    def _look_again(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Read each argument by itself; models and forms like to send JSON in strings."""
        arguments: dict[str, Any] = {}
        wrong: dict[str, Objection] = dict.fromkeys(
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
                    arguments[name] = made(parameter)
            except msgspec.ValidationError as error:
                wrong[name] = objection(error)
        if wrong:
            raise BadArguments(self._explained(dict(given), wrong))
        if self._checked:
            self._check(given)
        self._finish(arguments)
        return arguments

    def _unknown(self, given: Mapping[str, Any]) -> Iterator[str]:
        return islice((name for name in given if name not in self._kinds), _MOST_UNKNOWN)

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
            self._admit({name: inside})
            return self._converted(name, inside)

    def _converted(self, name: str, value: Any) -> Any:
        made = convert(value, self._kinds[name].native, strict=self._strict)
        if self._explicit is None:  # which says itself what members are allowed
            self._unknown_members.check(name, value)
        return made

    def _explained(self, given: dict[str, Any], wrong: Mapping[str, Objection]) -> list[str]:
        """Our own words where the schema tells what is wrong; the reader's where it does not."""
        found = problems(given, self._accepted, lenient=not self._strict, refused=True)
        for name, against in wrong.items():
            # A name that is unknown is quoted if need be, so it may begin with something else.
            known = (f"{name}:", f"{name}.", f"{name}[") if name in self._kinds else ("",)
            if not any(line.startswith(known) for line in found):
                found += [clipped(name) + line for line in worded(against)]
        return found

    def _finish(self, arguments: dict[str, Any]) -> None:
        for name in self._lacking:
            arguments[name] = finished(arguments[name], self._kinds[name])


def made(parameter: Parameter) -> Any:
    """What a parameter is when nobody gives it."""
    return parameter.default if parameter.default_factory is None else parameter.default_factory()


def _check_names(raw: Raw) -> None:
    try:
        twice = repeated(raw)
    except TooMuch as error:
        raise InvalidParams(f"params.arguments: {error}") from None
    if twice is not None:
        raise InvalidParams(
            f"params.arguments: the member {shown(twice)} stands twice; send it once"
        )


def _object(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidParams("params.arguments: expected an object")
    return given  # pyright: ignore[reportUnknownVariableType]
