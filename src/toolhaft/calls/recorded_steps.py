"""What a call does once, however many rounds it takes to ask its client.

What a step gives is recorded in the journal of the call, which travels with the client. Where a
client could read that, the journal has a handle instead, under which the store keeps it. Most calls
have all answers in one round, so nothing is kept before the call makes way for its questions.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from os import urandom

from msgspec import Raw

from ..errors import ToolError
from ..protocol.calls import Call
from ..protocol.elicitation.rounds import Journal
from ..protocol.ports import Store


class _Act:
    """A step that is being done."""

    __slots__ = ("is_over", "steps")

    def __init__(self, steps: "Steps") -> None:
        self.steps = steps
        self.is_over = False


# Tasks and threads that a step makes belong to it: who does can be told by nothing else.
_current_act: ContextVar[_Act | None] = ContextVar("step", default=None)


def in_step() -> bool:
    """Does the code that runs now belong to a step?"""
    act = _current_act.get()
    return act is not None and not act.is_over


class Steps:
    """The steps of one call. To be used on the loop's thread, but for `acting`.

    Args:
        seconds: for how long the store keeps what steps gave.
        ended: told when the last of those that have begun is over.
    """

    def __init__(
        self, call: Call, store: Store, seconds: float, *, ended: Callable[[], None]
    ) -> None:
        self._call = call
        self._store = store
        self._seconds = seconds
        self._ended = ended
        # How many have begun and are not over.
        self.under_way = 0
        # What they gave that the store has to keep, once the call makes way; and does it?
        self._unkept: dict[str, bytes] = {}
        self._makes_way = False

    @property
    def is_here(self) -> bool:
        """Does the code that runs now belong to a step of this call?"""
        act = _current_act.get()
        return act is not None and act.steps is self and not act.is_over

    async def begin(self, name: str) -> tuple[str, bytes | None]:
        """Under which key a step is recorded, and what it gave if it was done before. If not, it
        begins, and nobody interrupts the call before it has ended.

        Raises:
            ToolError: it was done, and what it gave is not known any more.
        """
        journal = self._journal()
        key = journal.step_key(name)
        if key in journal.steps:
            return key, bytes(journal.steps[key])
        if key not in journal.kept:
            self.under_way += 1
            return key, None
        found = await self._store.get(journal.kept[key])
        if found is None:
            raise ToolError(
                f"the step {name!r} was done, and what it gave is not kept any more; do not repeat "
                "the call blindly. With several workers, whoever runs the server has to install "
                "toolhaft[auth], or to give them a store that they share"
            )
        return key, found

    @contextmanager
    def acting(self) -> Generator[None]:
        """While a step is done, nobody who belongs to it can ask: what it has done so far would be
        done again. Wherever it is done."""
        before, act = _current_act.get(), _Act(self)
        _current_act.set(act)
        try:
            yield
        finally:
            act.is_over = True
            _current_act.set(before)

    async def end(self, key: str, value: bytes | None) -> None:
        """A step that has begun is over, with a value or without."""
        try:
            if value is not None:
                await self._record(key, value)
        finally:
            self._end()

    async def keep(self) -> None:
        """The call makes way, so what steps gave is kept: nothing interrupts that either."""
        self._makes_way = True
        if self._unkept:
            self.under_way += 1
            try:
                await self._put()
            finally:
                self._end()

    async def _record(self, key: str, value: bytes) -> None:
        if self._call.era.hides:
            self._journal().steps[key] = Raw(value)
            return
        self._unkept[key] = value
        if self._makes_way:
            await self._put()

    async def _put(self) -> None:
        while self._unkept:
            key, value = next(iter(self._unkept.items()))
            handle = f"step:{urandom(16).hex()}"
            await self._store.put(handle, value, seconds=self._seconds)
            self._journal().kept[key] = handle
            self._unkept.pop(key, None)

    def _end(self) -> None:
        self.under_way -= 1
        if not self.under_way:
            self._ended()

    def _journal(self) -> Journal:
        if self._call.journal is None:
            self._call.journal = Journal()
        return self._call.journal
