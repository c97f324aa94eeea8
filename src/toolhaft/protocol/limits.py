"""Resource limits of a server, with defaults for production."""

from typing import Any

from msgspec import Struct, StructMeta


class _Named(StructMeta):
    """Metaclass whose TypeError for an unknown keyword suggests the right one."""

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
    """All limits on messages, calls, threads, sessions and times."""

    # Bytes of one message. A longer one is skipped, in bounded memory, and answered with an error.
    message_bytes: int = 4 * 1024 * 1024
    # Calls in progress of one client; one more is refused at once.
    calls: int = 2048
    # Worker threads for plain functions. A function that blocks occupies one thread only.
    threads: int = 64
    # Bytes of one result of a tool. A larger one makes the call fail.
    result_bytes: int = 16 * 1024 * 1024
    # Bytes of answers that a client has not read, before reading of its requests stops.
    waiting_bytes: int = 1024 * 1024
    # Seconds for a client, and its user, to answer a question of the server.
    answer_seconds: float = 600
    # Seconds for the cleanup of a call, which a cancellation or a timeout does not interrupt.
    cleanup_seconds: float = 10
    # Progress notifications of one call: burst size, and rate per second after that. Of those
    # beyond it only the newest is sent, as soon as the rate allows, or before the answer.
    progress_per_second: float = 100
    # Seconds from the end of input, or the first signal, to the end of the process.
    shutdown_seconds: float = 0.8
    # Of these, seconds for calls in progress to finish.
    finish_seconds: float = 0.25

    # Over HTTP:
    # calls in progress of all clients together; one more is refused at once.
    all_calls: int = 10_000
    # Sessions of the handshake era. One more ends the least recently used one.
    sessions: int = 10_000
    # Seconds after which an unused session ends.
    session_seconds: float = 1800
    # Open streams that carry only notifications of changes.
    streams: int = 10_000
    # Seconds for which the events of a broken stream are kept, for a client to resume it.
    resume_seconds: float = 60
    # Seconds of silence on a stream after which a keep-alive comment is sent.
    quiet_seconds: float = 15
    # Seconds without reading any of its answer after which a client counts as disconnected.
    stall_seconds: float = 30
    # Seconds for all headers of a request to arrive, and for all of its body.
    head_seconds: float = 20
    body_seconds: float = 60
    # Seconds between two parts of a body after which a client counts as disconnected.
    gap_seconds: float = 10
    # Seconds from the first signal for calls in progress to finish.
    drain_seconds: float = 5

    @property
    def longest_gap(self) -> float:
        """Seconds to wait for more of a body: at most `stall_seconds`."""
        return min(self.gap_seconds, self.stall_seconds)

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            # `not value > 0` also catches NaN.
            if not isinstance(value, int | float) or not value > 0:
                raise ValueError(f"Limits({name}={value!r}): expected a number above 0")
