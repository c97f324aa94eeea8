"""Checks of large arguments before they are decoded, so that no decoding takes too long."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...encoding.json_bounds import TooMuch
from ...schema.codecs import Codec
from ..lazy_validation import TypeLimits, type_limits_of
from .parameters import Parameter


class ArgumentLimits:
    """Decoding cost limits of the parameters of a function, computed on the first large call."""

    __slots__ = ("_codecs", "_loads", "_parameters")

    def __init__(self, parameters: Sequence[Parameter], codecs: Mapping[str, Codec]) -> None:
        self._parameters = parameters
        self._codecs = codecs
        self._loads: dict[str, TypeLimits] | None = None

    @property
    def is_light(self) -> bool:
        """Whether all parameters are numbers or strings, which decode quickly at any length."""
        return all(load.is_light for load in self._load_by_name().values())

    @property
    def is_bounded(self) -> bool:
        """Whether a parameter has a limit to check."""
        return any(load.is_bounded for load in self._load_by_name().values())

    def problems(self, given: Mapping[str, Any]) -> list[str]:
        """Return one line for each argument over its limit, with the limit."""
        found: list[str] = []
        for name, load in self._load_by_name().items():
            try:
                if name in given:
                    load.admit(given[name])
            except TooMuch as error:
                found.append(f"{name}: {error}")
        return found

    def _load_by_name(self) -> dict[str, TypeLimits]:
        if self._loads is None:
            self._loads = {
                each.name: type_limits_of(each.type, self._codecs[each.name].patterns)
                for each in self._parameters
            }
        return self._loads
