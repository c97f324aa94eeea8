"""Every target is fuzzed for a while, and the engine finds what it should find.

`./dev fuzz` does the same for as long as one likes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.engine import Fuzzing, Target, Tracing, distilled, fuzz
from tests.fuzz.kept import kept
from tests.fuzz.targets import TARGETS

from toolhaft.protocol.http import headers as head_module
from toolhaft.protocol.http.head_cache import HeadCache
from toolhaft.protocol.http.headers import Head

INPUTS = 3_000

every_target = pytest.mark.parametrize("name", TARGETS)


def must_be_well(run: Fuzzing) -> None:
    if run.finding is not None:
        pytest.fail(f"{run.target.name}: {run.finding}", pytrace=False)


@every_target
def test_no_input_makes_a_target_do_what_it_must_not(name: str) -> None:
    run = fuzz(TARGETS[name], INPUTS)

    must_be_well(run)
    assert run.inputs == INPUTS
    assert run.grown, "no input went a way that the seeds had not gone"


@every_target
def test_what_was_kept_of_earlier_runs_does_no_harm_and_goes_new_ways(name: str) -> None:
    inputs = kept(name)

    run = fuzz(TARGETS[name], 0, kept=inputs)

    must_be_well(run)
    assert inputs
    assert set(run.grown) <= set(inputs)
    assert len(run.grown) > len(inputs) // 2


def _any_length(_: HeadCache, length: bytes | None) -> bool:
    return length is not None


def _pages_too(regulars: HeadCache, head: Head) -> None:
    regulars._judged.add(head.layout.judged(head.sent))


@pytest.mark.parametrize(
    ("owner", "name", "mistake", "told"),
    [
        (HeadCache, "_is_short", _any_length, "though it is refused"),
        (HeadCache, "remember", _pages_too, "a page goes without a word"),
        (head_module, "_JUDGED", (b"content-type", b"accept"), "though it is refused"),
        (head_module, "METHOD", b"mcp-name", "is refused"),
    ],
    ids=["any length", "pages", "hosts do not count", "another header"],
)
def test_who_is_known_again_by_mistake_is_found(
    owner: Any, name: str, mistake: object, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, mistake)

    run = fuzz(TARGETS["heads"], INPUTS, kept=kept("heads"))

    assert run.finding is not None
    assert told in str(run.finding.error)


# The engine


def maze(data: bytes) -> None:
    """Four doors behind each other; nobody finds the last one by chance."""
    for place, letter in enumerate(b"trap"):
        if data[place : place + 1] != bytes([letter]):
            return
        doors[place]()
    raise RuntimeError("found")


doors = [
    lambda: "first",
    lambda: "second",
    lambda: "third",
    lambda: "fourth",
]


def led_through(target: Target, inputs: int) -> Fuzzing:
    """As `fuzz`, with the ways of this file in place of those of the package."""
    return fuzz(target, inputs, inside=str(Path(__file__)), followed=1)


def test_the_engine_finds_its_way_by_what_it_has_covered() -> None:
    letters = [bytes([letter]) for letter in range(97, 123)]

    run = led_through(Target("maze", maze, [b"xxxx"], letters), 20_000)

    assert run.finding is not None
    assert run.finding.data.startswith(b"trap")
    assert str(run.finding).startswith("RuntimeError: found; input: b'trap")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, RecursionError, MemoryError])
def test_whatever_is_raised_is_a_finding(error: type[BaseException]) -> None:
    def take(data: bytes) -> None:
        raise error

    run = fuzz(Target("raises", take, [b"x"], [b"y"]), 10)

    assert run.finding is not None
    assert (run.inputs, type(run.finding.error)) == (1, error)


def test_the_same_seed_gives_the_same_inputs() -> None:
    def inputs(seed: str) -> Sequence[bytes]:
        taken: list[bytes] = []
        fuzz(Target("noted", taken.append, [b'{"a": 1}'], [b"x"]), 200, seed=seed)
        return taken

    assert inputs("one") == inputs("one") != inputs("two")


def test_only_inputs_that_are_needed_are_kept() -> None:
    target = Target("maze", maze, [b"xxxx"], [b"t"])

    inputs = [b"txxx", b"t", b"tx", b"trxx", b"tr", b"yyyy"]

    assert distilled(target, inputs, inside=str(Path(__file__))) == [b"t", b"tr"]


def test_nothing_is_traced_afterwards() -> None:
    arcs: set[object] = set()
    with Tracing(arcs, str(Path(__file__))):  # type: ignore[arg-type]
        maze(b"x")
    inside = len(arcs)
    maze(b"tr")

    assert len(arcs) == inside > 0
