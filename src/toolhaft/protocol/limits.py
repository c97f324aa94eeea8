"""How much one client may ask of the server, with defaults that hold in production."""

from typing import Any

from msgspec import Struct, StructMeta


class _Named(StructMeta):
    """Says which keyword was meant by one that a struct does not know."""

    # A return type would hide the fields from pyright.
    def __call__(cls, *args: Any, **given: Any):  # type: ignore[no-untyped-def]
        try:
            return super().__call__(*args, **given)
        except TypeError:
            known: tuple[str, ...] = cls.__struct_fields__
            unknown = [name for name in given if name not in known]
            if not unknown:
                raise
            from ..suggestions import unknown_keyword  # noqa: PLC0415

            raise TypeError(unknown_keyword(f"{cls.__name__}()", unknown[0], known)) from None


class Limits(Struct, metaclass=_Named, frozen=True, kw_only=True):
    """Every bound of a connection, in one place."""

    # A longer message is skipped, in bounded memory, and answered with an error.
    message_bytes: int = 4 * 1024 * 1024
    # Calls of one client that may be under way; one more is refused at once.
    calls: int = 2048
    # Threads for plain functions. A function that blocks holds one of these and nothing else.
    threads: int = 64
    # The result of a tool that is larger becomes a failed call.
    result_bytes: int = 16 * 1024 * 1024
    # Answers that may wait for a client to read them before we stop reading its requests.
    waiting_bytes: int = 1024 * 1024
    # How long a client, and whoever sits before it, may take to answer a question of ours.
    answer_seconds: float = 600
    # The cleanup of a call, which a cancellation or a timeout does not interrupt.
    cleanup_seconds: float = 10
    # Reports of progress that a call sends: so many at once, and so many a second after that.
    # Of those beyond it the newest is sent as soon as the rate allows, or before the answer.
    progress_per_second: float = 100
    # From the end of input, or the first signal, to the end of the process.
    shutdown_seconds: float = 0.8
    # Of that, how long calls that are under way may still finish.
    finish_seconds: float = 0.25

    # Over HTTP:
    # calls of all clients together that may be under way; one more is refused at once.
    all_calls: int = 10_000
    # Sessions of clients that begin with `initialize`. One more ends the one used least recently.
    sessions: int = 10_000
    # A session that nobody uses for so long is over.
    session_seconds: float = 1800
    # Streams that are open for news only.
    streams: int = 10_000
    # What a broken stream sent last is kept for so long, for a client that comes back.
    resume_seconds: float = 60
    # A stream on which nothing happens for so long is told that we are still here.
    quiet_seconds: float = 15
    # A client that reads no more of its answer for so long is gone.
    stall_seconds: float = 30
    # All headers of a request, and all of its body, must have come within so long.
    head_seconds: float = 20
    body_seconds: float = 60
    # A client that sends no more of a body for so long is gone.
    gap_seconds: float = 10
    # From the first signal on, calls that are under way have so long to finish.
    drain_seconds: float = 5

    @property
    def longest_gap(self) -> float:
        """How long to wait for more of a body: no longer than for a client that does not read."""
        return min(self.gap_seconds, self.stall_seconds)

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            # Nothing is above what is not a number, and it is above nothing.
            if not isinstance(value, int | float) or not value > 0:
                raise ValueError(f"Limits({name}={value!r}): expected a number above 0")
