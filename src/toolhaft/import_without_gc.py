"""Loading modules without the garbage collector, which finds nothing in what they make."""

import gc


class WithoutGc:
    """In a `with` block the collector rests, if it was at work."""

    __slots__ = ("_was_at_work",)

    def __enter__(self) -> None:
        # Who finds it at rest leaves it alone: another thread may be about to wake it up.
        self._was_at_work = gc.isenabled()
        if self._was_at_work:
            gc.disable()

    def __exit__(self, *error: object) -> None:
        if self._was_at_work:
            gc.enable()
