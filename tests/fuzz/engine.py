"""Fuzzing led by coverage: an input that makes the code go a new way is kept, and changed further.

Nothing but the standard library, so that it runs wherever the tests do. What counts as a way is a
step from one line of the package to another. The same seed gives the same inputs.
"""

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from tests.fuzz.mutations import Mutator

import toolhaft

PACKAGE = str(Path(toolhaft.__file__).parent)
# An input that is longer is not kept: it finds nothing that a shorter one does not.
LONGEST = 16 * 1024
# To follow the code makes it several times slower: of the changed inputs so many are followed.
FOLLOWED = 1 / 8
# New inputs are more promising than those that all others have come from.
_NEW = 64

Arc = tuple[CodeType, int, int]


class Target(NamedTuple):
    """Code that takes bytes: what it does with any of them must be right, or it raises."""

    name: str
    take: Callable[[bytes], object]
    seeds: Sequence[bytes]
    tokens: Sequence[bytes]


class Finding(NamedTuple):
    """An input that something is wrong with."""

    data: bytes
    error: BaseException

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}; input: {self.data[:3000]!r}"


@dataclass
class Fuzzing:
    """What came of it so far."""

    target: Target
    # The folder or file whose ways are followed.
    inside: str = PACKAGE
    inputs: int = 0
    seconds: float = 0.0
    # What is changed next: the seeds, and every input that went a new way.
    corpus: list[bytes] = field(default_factory=list)
    finding: Finding | None = None
    _arcs: set[Arc] = field(default_factory=set)

    @property
    def arcs(self) -> int:
        """How many ways the code has gone."""
        return len(self._arcs)

    @property
    def grown(self) -> list[bytes]:
        """The inputs that were found, the shortest first."""
        return sorted(set(self.corpus) - set(self.target.seeds), key=lambda data: (len(data), data))

    def follow(self, data: bytes) -> None:
        """Try an input, and keep it if it went a new way."""
        before = len(self._arcs)
        with Tracing(self._arcs, self.inside):
            self.try_(data)
        if len(self._arcs) > before and len(data) <= LONGEST:
            self.corpus.append(data)

    def try_(self, data: bytes) -> None:
        """Try an input."""
        self.inputs += 1
        try:
            self.target.take(data)
        except BaseException as error:
            self.finding = Finding(data, error)


class Tracing:
    """Notes the steps between lines of the package, while it is entered."""

    def __init__(self, arcs: set[Arc], inside: str) -> None:
        self._arcs = arcs
        self._inside = inside
        # By code: whether it is ours. To compare paths for each call would take most of the time.
        self._ours: dict[CodeType, bool] = _OURS.setdefault(inside, {})

    def __enter__(self) -> "Tracing":
        self._before = sys.gettrace()
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        ours = self._ours.get(code)
        if ours is None:
            ours = self._ours[code] = code.co_filename.startswith(self._inside)
        if not ours:
            return None
        add, last = self._arcs.add, 0

        def step(frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal last
            line = frame.f_lineno if event != "return" else -1
            add((code, last, line))
            last = line
            return step

        return step


_OURS: dict[str, dict[CodeType, bool]] = {}


def fuzz(
    target: Target,
    inputs: int,
    *,
    seed: str = "",
    kept: Sequence[bytes] = (),
    followed: float = FOLLOWED,
    inside: str = PACKAGE,
) -> Fuzzing:
    """Try the seeds, what was kept of earlier runs, and then changes of both, so many in all.

    It stops at the first finding."""
    run = Fuzzing(target, inside, corpus=list(target.seeds))
    chance = random.Random(f"{target.name} {seed}")
    mutator = Mutator(run.corpus, target.tokens)
    start = time.perf_counter()
    for data in [*target.seeds, *kept]:
        if run.finding is None:
            run.follow(data)
    while run.finding is None and run.inputs < inputs:
        new = chance.random() < 0.5
        data = mutator.one_of(run.corpus[-_NEW:] if new else run.corpus, chance)
        if chance.random() < followed:
            run.follow(data)
        else:
            run.try_(data)
    run.seconds = time.perf_counter() - start
    return run


def distilled(target: Target, inputs: Sequence[bytes], *, inside: str = PACKAGE) -> list[bytes]:
    """Of many inputs those that are needed to go all the ways that they go, short ones first."""
    run = Fuzzing(target, inside)
    for data in target.seeds:
        run.follow(data)
    run.corpus.clear()
    for data in sorted(set(inputs), key=lambda each: (len(each), each)):
        run.follow(data)
    return run.corpus
