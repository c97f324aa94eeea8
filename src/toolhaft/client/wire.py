"""What went over the wire, in order: for whoever wants to look at it afterwards."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, overload

Direction: TypeAlias = Literal[">", "<"]


class Passed(NamedTuple):
    """One message: sent by the client (`>`) or by the server (`<`)."""

    direction: Direction
    # What is not JSON stays bytes.
    message: Any

    def __str__(self) -> str:
        shown = self.message
        if not isinstance(shown, bytes):
            shown = json.dumps(shown, ensure_ascii=False)
        return f"{self.direction} {shown}"


class Wire(Sequence[Passed]):
    """The messages of one conversation; `str` shows them one per line."""

    def __init__(self) -> None:
        self._passed: list[Passed] = []

    def note(self, direction: Direction, message: Any) -> None:
        """Another one has passed."""
        self._passed.append(Passed(direction, message))

    @overload
    def __getitem__(self, index: int) -> Passed: ...
    @overload
    def __getitem__(self, index: slice) -> list[Passed]: ...
    def __getitem__(self, index: int | slice) -> Passed | list[Passed]:
        return self._passed[index]

    def __len__(self) -> int:
        return len(self._passed)

    def __iter__(self) -> Iterator[Passed]:
        return iter(self._passed)

    def __str__(self) -> str:
        return "\n".join(map(str, self._passed))

    @property
    def sent(self) -> list[Any]:
        """What the client sent."""
        return self._those(lambda passed: passed.direction == ">")

    @property
    def received(self) -> list[Any]:
        """What the server sent."""
        return self._those(lambda passed: passed.direction == "<")

    def _those(self, wanted: Callable[[Passed], bool]) -> list[Any]:
        return [passed.message for passed in self._passed if wanted(passed)]
