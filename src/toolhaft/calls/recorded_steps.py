"""Steps: parts of a call that run once, however many rounds the call takes.

The value of a step is recorded in the journal of the call, which the client carries from round to
round. Where the client could read it, the journal has the key of an entry in the store instead.
Most calls have all answers in one round, so nothing is stored before the call is suspended.
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


class _ActiveStep:
    """A step in progress."""

    __slots__ = ("is_over", "steps")

    def __init__(self, steps: "Steps") -> None:
        self.steps = steps
        self.is_over = False


# A context variable, so that tasks of a step, and its `asyncio.to_thread`, inherit it.
_active_step: ContextVar[_ActiveStep | None] = ContextVar("step", default=None)


def in_step() -> bool:
    """Return whether the current code belongs to a step."""
    active = _active_step.get()
    return active is not None and not active.is_over


class Steps:
    """The steps of one call. Loop thread only, except `acting`.

    Args:
        seconds: lifetime of stored values.
        ended: called when the last step in progress is over.
    """

    def __init__(
        self, call: Call, store: Store, seconds: float, *, ended: Callable[[], None]
    ) -> None:
        self._call = call
        self._store = store
        self._seconds = seconds
        self._ended = ended
        # Number of steps in progress.
        self.under_way = 0
        # Values to store once the call is suspended; and whether it is.
        self._unstored: dict[str, bytes] = {}
        self._is_suspended = False

    @property
    def is_in_step(self) -> bool:
        """Whether the current code belongs to a step of this call."""
        active = _active_step.get()
        return active is not None and active.steps is self and not active.is_over

    async def start(self, name: str) -> tuple[str, bytes | None]:
        """Return the key of a step, and its value if an earlier round has run it. Else the step is
        in progress, and the call is not interrupted before `end`.

        Raises:
            ToolError: an earlier round has run the step, and its value has expired.
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
        """Mark the code of the block as a step, on whichever thread: it cannot ask questions, since
        the part before a question would run again.
        """
        before, active = _active_step.get(), _ActiveStep(self)
        _active_step.set(active)
        try:
            yield
        finally:
            active.is_over = True
            _active_step.set(before)

    async def end(self, key: str, value: bytes | None) -> None:
        """End a step in progress, and record its value if it has one."""
        try:
            if value is not None:
                await self._record(key, value)
        finally:
            self._end()

    async def store_values(self) -> None:
        """Store the values of steps, since the call is being suspended. Not interrupted either."""
        self._is_suspended = True
        if self._unstored:
            self.under_way += 1
            try:
                await self._put()
            finally:
                self._end()

    async def _record(self, key: str, value: bytes) -> None:
        if self._call.era.hides:
            self._journal().steps[key] = Raw(value)
            return
        self._unstored[key] = value
        if self._is_suspended:
            await self._put()

    async def _put(self) -> None:
        while self._unstored:
            key, value = next(iter(self._unstored.items()))
            handle = f"step:{urandom(16).hex()}"
            await self._store.put(handle, value, seconds=self._seconds)
            self._journal().kept[key] = handle
            self._unstored.pop(key, None)

    def _end(self) -> None:
        self.under_way -= 1
        if not self.under_way:
            self._ended()

    def _journal(self) -> Journal:
        if self._call.journal is None:
            self._call.journal = Journal()
        return self._call.journal
