"""Decoders of the arguments of a function: of all of them, and of the only one.

A function becomes a struct with one field per parameter, and the struct a decoder that reads the
arguments of a call in one pass. Where there is one parameter, its value stands between the name and
the last brace, and can be read by itself. If another member follows, whatever its name is, then
what stands there is no JSON, and is not accepted. So nothing else has to be looked for.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from ...schema.codecs import Decode, Kind, decoder_of, is_plain, reading_models, text_reader_of
from ..lazy_validation import refusing_unknown, refusing_unknown_inside
from .parameters import Parameter

_FLAT = (str, int, float, bool, type(None))


def decoder_of_all(
    parameters: Sequence[Parameter], kinds: Mapping[str, Kind], *, strict: bool
) -> Decode:
    """What makes an object of the text of all arguments, with one attribute per parameter."""
    decoder = decoder_of(_struct(parameters, kinds), strict=strict)
    decode = reading_models(decoder.decode, {name: kind.native for name, kind in kinds.items()})
    if all(is_plain(each.type) for each in parameters):
        return decode
    given = [(each.name, each.type, each.required) for each in parameters]
    return refusing_unknown(decode, given, strict=strict)


def _struct(parameters: Sequence[Parameter], kinds: Mapping[str, Kind]) -> type[Struct]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in parameters:
        kind = kinds[parameter.name].native
        if text_reader_of(kind) is not None:
            kind = Raw
        fields.append(
            (parameter.name, kind)
            if parameter.required
            else (parameter.name, kind, _default(parameter))
        )
    return msgspec.defstruct(
        "Arguments", fields, kw_only=True, forbid_unknown_fields=True, gc=False
    )


def _default(parameter: Parameter) -> Any:
    """What a parameter is when nobody gives it, as msgspec takes it."""
    factory, default = parameter.default_factory, parameter.default
    if factory is None and isinstance(default, _FLAT):
        return default
    return msgspec.field(default_factory=factory if factory is not None else lambda: default)


class Only:
    """Reads the arguments of a function that has one parameter, if they are written as most are:
    the name without escapes, and no blanks before it."""

    __slots__ = ("_head", "_kind", "_parameter", "_strict", "decode", "name")

    def __init__(self, parameter: Parameter, kind: Kind, *, strict: bool) -> None:
        self._parameter = parameter
        self.name = parameter.name
        self._kind = kind
        self._strict = strict
        self._head = b'{"%b":' % parameter.name.encode()
        # Makes the argument of its text.
        self.decode: Decode = self._decode_first

    def text_in(self, arguments: bytes) -> bytes | None:
        """The text of the argument, and of all that follows; None if they are written otherwise."""
        head = self._head
        if arguments.startswith(head) and arguments.endswith(b"}"):
            return arguments[len(head) : -1]
        return None

    def _decode_first(self, text: Raw | bytes) -> Any:
        """The decoder is made with the first call: a server may have thousands of tools."""
        native, annotation = self._kind.native, self._parameter.type
        decode = text_reader_of(native) or decoder_of(native, strict=self._strict).decode
        if not is_plain(annotation):
            decode = refusing_unknown_inside(decode, annotation, strict=self._strict)
        self.decode = decode
        return decode(text)
