"""The first answer, given before asyncio is loaded.

A client begins with `initialize` or `server/discover` and waits for the answer, which needs no
loop; and asyncio takes as long to load as all of our own. So who has asked by the time the server
is ready to load it is answered first. All else stays where it is, for those who serve.
"""

import os
from time import perf_counter
from typing import Final, Protocol, cast

from msgspec import UNSET

from ...encoding.envelope import Message, decode_message, whole
from ...errors import InternalError, McpError
from ...process.private_fds import is_pipe
from ...protocol.calls import Call, Counter, Dispatching, Exchange, Reply, Result
from ...protocol.framing import Frame, Framer
from ...protocol.peer import Peer, completed, failed

_GREETINGS: Final = ("initialize", "server/discover")
_CHUNK: Final = 65536


class Greeter(Protocol):
    """A service, as far as a greeting needs to know it."""

    @property
    def metrics(self) -> Counter: ...
    @property
    def dispatch(self) -> Dispatching: ...
    def mask(self, what: str, error: BaseException, /) -> str: ...


def greet(service: Greeter, peer: Peer, framer: Framer, *, input_: int, output: int) -> bytes:
    """Answer a client that has greeted already; never waits.

    Returns what it does not take at once, to be sent before all else."""
    if not is_pipe(input_):
        return b""
    os.set_blocking(input_, False)
    try:
        data = os.read(input_, _CHUNK)
    except OSError:  # nothing yet
        return b""
    if not data:  # the end, which is found again
        return b""
    framer.feed(data)
    answers: list[bytes] = []
    while framer.frames and (answer := _answer(service, peer, framer.frames[0])) is not None:
        framer.frames.popleft()
        answers.append(answer)
    return _unsent(framer.wrap(answers), output) if answers else b""


def _answer(service: Greeter, peer: Peer, frame: Frame) -> bytes | None:
    """The answer to a greeting; None for everything else."""
    message = decode_message(frame) if isinstance(frame, bytes) else None
    if not isinstance(message, Message) or message.id is UNSET or message.method not in _GREETINGS:
        return None
    event = peer.take(message)
    if isinstance(event, Reply):
        service.metrics.refused(event.method)
        return event.frame
    assert isinstance(event, Call), "a greeting is a request"
    event.began = perf_counter()
    try:
        # What answers a greeting looks at the call itself and at nothing around it.
        result = cast(Result, service.dispatch.outcome(cast(Exchange, event)))
        answer = whole(completed(event, result))
    except Exception as error:
        told = error if isinstance(error, McpError) else None
        service.metrics.ended(event, "error")
        return failed(event, told or InternalError(service.mask(event.method, error)))
    service.metrics.ended(event, None)
    return answer


def _unsent(data: bytes, output: int) -> bytes:
    """Write what is taken at once."""
    if not is_pipe(output):
        return data
    os.set_blocking(output, False)
    try:
        return data[os.write(output, data) :]
    except BlockingIOError:
        return data
    except OSError:  # nobody reads any more; the end of input follows
        return b""
