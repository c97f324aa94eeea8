"""The first answer, given before asyncio is loaded.

A client begins with `initialize` or `server/discover` and waits for the answer, which needs no
loop; and asyncio takes as long to load as all of our own. So who has asked by the time the server
is ready to load it is answered first. All else stays where it is, for those who serve.
"""

import os
import select
import stat
from time import perf_counter
from typing import Final, Protocol, cast

from msgspec import UNSET

from ..envelope import Message, decode, response
from ..errors import InternalError, McpError
from ..protocol.calls import Call, Counter, Exchange, Handler, Reply, Result
from ..protocol.framing import Frame, Framer
from ..protocol.peer import Peer, failed

_GREETINGS: Final = ("initialize", "server/discover")
_CHUNK: Final = 65536
# As much as a pipe that is ready takes without a wait.
_AT_ONCE: Final = select.PIPE_BUF


class Greeter(Protocol):
    """A service, as far as a greeting needs to know it."""

    @property
    def metrics(self) -> Counter: ...
    @property
    def dispatch(self) -> Handler: ...
    def mask(self, what: str, error: BaseException, /) -> str: ...


def greet(service: Greeter, peer: Peer, framer: Framer, *, input_: int, output: int) -> list[bytes]:
    """Answer a client that has greeted already; never waits.

    Returns the answers that it does not take at once, to be sent before all others."""
    mode = os.fstat(input_).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return []
    if not _is_ready(input_, select.POLLIN):
        return []
    try:
        data = os.read(input_, _CHUNK)
    except OSError:
        return []
    if not data:  # the end, which is found again
        return []
    framer.feed(data)
    answers: list[bytes] = []
    while framer.frames and (answer := _answer(service, peer, framer.frames[0])) is not None:
        framer.frames.popleft()
        answers.append(answer)
    return [] if not answers or _written(framer.wrap(answers), output) else answers


def _answer(service: Greeter, peer: Peer, frame: Frame) -> bytes | None:
    """The answer to a greeting; None for everything else."""
    message = decode(frame) if isinstance(frame, bytes) else None
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
        result = cast(Result, service.dispatch(cast(Exchange, event)))
        answer = response(event.id, event.era.finish(event, result))
    except Exception as error:
        told = error if isinstance(error, McpError) else None
        service.metrics.ended(event, "error")
        return failed(event, told or InternalError(service.mask(event.method, error)))
    service.metrics.ended(event, None)
    return answer


def _is_ready(descriptor: int, event: int) -> bool:
    poll = select.poll()  # which takes any number, other than `select`
    poll.register(descriptor, event)
    return bool(poll.poll(0))


def _written(data: bytes, output: int) -> bool:
    if len(data) > _AT_ONCE or not _is_ready(output, select.POLLOUT):
        return False
    try:
        return os.write(output, data) == len(data)
    except BlockingIOError:
        return False
    except OSError:  # nobody reads any more; the end of input follows
        return True
