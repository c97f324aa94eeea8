"""msgspec decoders for the arguments of a function.

The general decoder reads a struct with one field per parameter, in one pass. A function with one
parameter has a shorter one: it decodes the bytes between the name and the last brace. If there is a
second member, these bytes are not valid JSON and are refused, so members need not be counted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from ...schema.codecs import Codec, Decode, decoder_of, is_plain, reading_models, text_reader_of
from ..lazy_validation import refusing_unknown, refusing_unknown_inside
from .parameters import Parameter

# Types of immutable defaults, which msgspec takes as they are.
_FLAT = (str, int, float, bool, type(None))


def decoder_of_all(
    parameters: Sequence[Parameter], codecs: Mapping[str, Codec], *, strict: bool
) -> Decode:
    """Make the decoder from a JSON object to a struct with one attribute per parameter."""
    decoder = decoder_of(_struct(parameters, codecs), strict=strict)
    decode = reading_models(decoder.decode, {name: codec.native for name, codec in codecs.items()})
    if all(is_plain(each.type) for each in parameters):
        return decode
    given = [(each.name, each.type, each.required) for each in parameters]
    return refusing_unknown(decode, given, strict=strict)


def _struct(parameters: Sequence[Parameter], codecs: Mapping[str, Codec]) -> type[Struct]:
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in parameters:
        native = codecs[parameter.name].native
        if text_reader_of(native) is not None:
            native = Raw
        fields.append(
            (parameter.name, native)
            if parameter.required
            else (parameter.name, native, _default(parameter))
        )
    return msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)


def _default(parameter: Parameter) -> Any:
    """Return the default of a parameter in the form that `defstruct` takes."""
    factory, default = parameter.default_factory, parameter.default
    if factory is None and isinstance(default, _FLAT):
        return default
    return msgspec.field(default_factory=factory if factory is not None else lambda: default)


class SingleArgumentDecoder:
    """Decoder for a function with one parameter. It takes the usual spelling of the arguments: no
    escapes in the name, and no whitespace up to the colon."""

    __slots__ = ("_codec", "_head", "_parameter", "_strict", "decode", "name")

    def __init__(self, parameter: Parameter, codec: Codec, *, strict: bool) -> None:
        self._parameter = parameter
        self.name = parameter.name
        self._codec = codec
        self._strict = strict
        self._head = b'{"%b":' % parameter.name.encode()
        # Decodes the bytes that `text_in` returns.
        self.decode: Decode = self._decode_first

    def text_in(self, arguments: bytes) -> bytes | None:
        """Return the bytes between `{"name":` and the last brace; None if spelled otherwise."""
        head = self._head
        if arguments.startswith(head) and arguments.endswith(b"}"):
            return arguments[len(head) : -1]
        return None

    def _decode_first(self, text: Raw | bytes) -> Any:
        """Make the decoder on the first call: a server may have thousands of tools."""
        native, annotation = self._codec.native, self._parameter.type
        decode = text_reader_of(native) or decoder_of(native, strict=self._strict).decode
        if not is_plain(annotation):
            decode = refusing_unknown_inside(decode, annotation, strict=self._strict)
        self.decode = decode
        return decode(text)
