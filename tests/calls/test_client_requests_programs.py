"""Random programs of questions, steps and branches do the same in both eras."""

import asyncio
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from toolhaft import Accepted, Context, Declined, Elicit, Server
from toolhaft.testing import play

MOST_QUESTIONS = 8


class Ask(NamedTuple):
    key: str | None
    text: str


class Together(NamedTuple):
    texts: list[str]
    by_name: bool


class Step(NamedTuple):
    name: str
    value: Any


class Branch(NamedTuple):
    yes: list[Any]
    no: list[Any]


class Loop(NamedTuple):
    times: int
    body: list[Any]


class Guard(NamedTuple):
    body: list[Any]
    name: str


words = st.sampled_from(["a", "b", "c", "dd"])
values = st.one_of(st.integers(-5, 5), words, st.lists(st.integers(0, 3), max_size=2), st.none())
plain = st.one_of(
    st.builds(Ask, st.one_of(st.none(), words), words),
    st.builds(Together, st.lists(words, min_size=1, max_size=3, unique=True), st.booleans()),
    st.builds(Step, words, values),
)
programs = st.recursive(
    st.lists(plain, max_size=3),
    lambda inner: st.lists(
        st.one_of(
            plain,
            st.builds(Branch, inner, inner),
            st.builds(Loop, st.integers(0, 2), inner),
            st.builds(Guard, inner, words),
        ),
        max_size=4,
    ),
    max_leaves=6,
)


def rounds_of(program: list[Any]) -> int:
    """How often a program asks at most."""
    total = 0
    for op in program:
        match op:
            case Ask() | Together():
                total += 1
            case Branch(yes, no):
                total += max(rounds_of(yes), rounds_of(no))
            case Loop(times, body):
                total += times * rounds_of(body)
            case Guard(body, _):
                total += rounds_of(body)
            case _:
                pass
    return total


class Machine:
    """Runs a program as a tool would, and notes what it saw and did."""

    def __init__(self, ctx: Context, done: list[str]) -> None:
        self._ctx = ctx
        self._done = done
        self.seen: list[str] = []

    async def run(self, program: list[Any]) -> None:
        for op in program:
            match op:
                case Ask(key, text):
                    self.seen.append(str(await self._ctx.elicit(text, str, key=key)))
                case Together(texts, by_name):
                    self.seen.append(str(await self._together(texts, by_name)))
                case Step(name, value):
                    self.seen.append(str(await self._ctx.step(name, self._act, name, value)))
                case Branch(yes, no):
                    is_yes = bool(self.seen) and self.seen[-1].startswith("Accepted")
                    await self.run(yes if is_yes else no)
                case Loop(times, body):
                    for _ in range(times):
                        await self.run(body)
                case Guard(body, name):
                    try:
                        await self.run(body)
                    finally:
                        await self._ctx.step(name, self._act, name, "released")

    async def _together(self, texts: list[str], by_name: bool) -> Any:
        if by_name:
            return await self._ctx.ask(**{text: Elicit(text, str) for text in texts})
        return await asyncio.gather(*(self._ctx.elicit(text, str) for text in texts))

    def _act(self, name: str, value: Any) -> Any:
        self._done.append(f"{name} {value}")
        return value


def answer(_method: str, params: dict[str, Any]) -> Any:
    text = params["message"]
    return Declined() if text == "b" else Accepted(text.upper())


@settings(max_examples=60, deadline=None)
@given(programs.filter(lambda program: rounds_of(program) <= MOST_QUESTIONS))
def test_a_program_does_the_same_in_both_eras(program: list[Any]) -> None:
    told: list[tuple[str, list[str]]] = []

    async def both() -> None:
        for revision in ("2025-11-25", "2026-07-28"):
            done: list[str] = []
            server = Server("s")

            async def tool(ctx: Context) -> str:
                machine = Machine(ctx, done)  # noqa: B023 - called before the next one
                await machine.run(program)
                return "; ".join(machine.seen) or "nothing"

            server.add_tool(tool)
            played = await play(server, "tool", answers=answer, revision=revision)
            told.append((played.text, done))

    asyncio.run(both())

    assert told[0] == told[1]
