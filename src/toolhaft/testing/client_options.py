"""What every client for tests takes, whatever it speaks over."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

from ..client.channel import Progress
from ..protocol.revisions import REVISIONS
from ..types.notifications import LogLevel, LogMessage
from .answers import Answers
from .change_stream import Notice

PATIENCE = 20.0


class ClientOptions(TypedDict, total=False):
    """Of every client, beside what says where its server is.

    answers: what it answers to the server's questions: by what they say or by their method, in
        order, or a function of method and params. A value is accepted, `Declined()` and
        `Cancelled()` are not. Without answers a question fails the test, and so do answers that
        nobody has asked for.
    capabilities: what it declares that it can be asked for; by default everything.
    timeout: seconds after which a request fails, unless it says otherwise; None is no limit.
    on_progress: gets progress, total and message of every call.
    on_log: gets every log message. Without a `level` it gets all of them.
    on_notice: gets every notification.
    level: how much the server logs.
    info: name and version of the client.
    """

    answers: Answers | None
    capabilities: Mapping[str, Any] | None
    timeout: float | None
    on_progress: Progress | None
    on_log: Callable[[LogMessage], None] | None
    on_notice: Callable[[Notice], None] | None
    level: LogLevel | None
    info: Mapping[str, Any]


def patience(options: ClientOptions) -> float | None:
    """How long to wait for an answer.

    Raises:
        TypeError: this is no number.
        ValueError: it is none above 0.
    """
    seconds: object = options.get("timeout", PATIENCE)
    if seconds is None:
        return None
    if not isinstance(seconds, int | float):
        raise TypeError(f"timeout is a number of seconds or None, not {seconds!r}")
    if not seconds > 0:
        raise ValueError(f"timeout={seconds!r} must be above 0 seconds")
    return seconds


def of_session(revision: str | None, session: str | None) -> str | None:
    """The revision of a client; of one that goes on with a session, it has to be said.

    Raises:
        ValueError: it is not, or is one without sessions.
    """
    known = None if revision is None else REVISIONS.get(revision)
    if session is not None and (known is None or not known.handshake):
        raise ValueError("session= needs revision=, that with which the session was begun")
    return revision
