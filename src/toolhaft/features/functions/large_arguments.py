"""What is looked at before large arguments are read, so that none of them takes too long."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...encoding.json_bounds import TooMuch
from ...schema.codecs import Kind
from ..lazy_validation import Load, load_of
from .parameters import Parameter


class Admission:
    """The bounds of the parameters of a function. They are found out for the first large call."""

    __slots__ = ("_kinds", "_loads", "_parameters")

    def __init__(self, parameters: Sequence[Parameter], kinds: Mapping[str, Kind]) -> None:
        self._parameters = parameters
        self._kinds = kinds
        self._loads: dict[str, Load] | None = None

    @property
    def is_light(self) -> bool:
        """Are all of them numbers and texts, which are quick to read however long they are?"""
        return all(load.is_light for load in self._found().values())

    @property
    def is_bounded(self) -> bool:
        """Is there anything to look at?"""
        return any(load.is_bounded for load in self._found().values())

    def problems(self, given: Mapping[str, Any]) -> list[str]:
        """What would take too long to read, one line each, with its bound."""
        found: list[str] = []
        for name, load in self._found().items():
            try:
                if name in given:
                    load.admit(given[name])
            except TooMuch as error:
                found.append(f"{name}: {error}")
        return found

    def _found(self) -> dict[str, Load]:
        if self._loads is None:
            self._loads = {
                each.name: load_of(each.type, self._kinds[each.name].patterns)
                for each in self._parameters
            }
        return self._loads
