"""Loading modules without the garbage collector, which finds nothing in what they make."""

import gc


class Undisturbed:
    """In a `with` block the collector rests, if it was at work."""

    __slots__ = ("_was_at_work",)

    def __enter__(self) -> None:
        self._was_at_work = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        if self._was_at_work:
            gc.enable()
