"""Steps: what a call does once, however often it runs.

What a step gives is written down as JSON and read again by the annotation of its function, the
first time as well: so a function gets the same whether it runs for the first time or not.
"""

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, get_type_hints

import msgspec

from ...protocol.calls import Blocking, Exchange
from ...schema.codecs import Codec, codec_of, convert, is_plain, with_defaults, write
from ...schema.from_types import schema_of
from ..author_checks import unwrapped

_decode = msgspec.json.Decoder().decode


def awaited(exchange: Exchange, function: Callable[[], Any]) -> Callable[[], Awaitable[bytes]]:
    """A step as the runtime takes it: async functions are awaited, plain ones get a thread."""

    async def act() -> bytes:
        if inspect.iscoroutinefunction(unwrapped(function)):
            return write(await function())
        value = await exchange.settle(Blocking(partial(plainly, function)))
        assert isinstance(value, bytes)
        return value

    return act


def plainly(function: Callable[[], Any]) -> bytes:
    """The value of a plain function, written down."""
    return write(function())


def reader_of(name: str, function: Callable[..., Any]) -> Callable[[bytes], Any]:
    """What reads the value of a step.

    Raises:
        TypeError: values of the annotated type cannot be read from JSON.
    """
    target = unwrapped(function)
    hints = get_type_hints(target) if hasattr(target, "__annotations__") else {}
    annotation = hints.get("return", Any)
    try:
        if not is_plain(annotation):
            schema_of(annotation)  # which tells before anything is done
        kind = codec_of(annotation)
    except TypeError as error:
        raise TypeError(f"step {name!r}: its value cannot be recorded: {error}") from None
    return partial(_read, kind)


def _read(kind: Codec, text: bytes) -> Any:
    return with_defaults(convert(_decode(text), kind.native, strict=False), kind)
