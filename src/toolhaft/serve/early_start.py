"""How a server begins over stdio: it greets its client, and then loads what serves it."""

from typing import Protocol

from msgspec import Struct

from ..process import private_fds
from ..process.signals import Signals
from ..protocol.framing import Framer, FramingName
from ..protocol.handshake import Session
from ..protocol.limits import Limits
from ..protocol.peer import Peer
from ..protocol.ports import LifespanState, Traffic
from ..protocol.stateless import Stateless
from ..server.dispatch import Dispatch
from ..transports.stdio.early_handshake import EarlyService, answer_handshake
from ..types.wire import Implementation


class Begun(Struct, eq=False):
    """A conversation that has begun: what was read of it and not answered yet, who the client is,
    who hears of signals, and what the client has still to be sent."""

    framer: Framer
    session: Session
    signals: Signals
    left: bytes = b""


class Beginner(EarlyService, Protocol):
    """A service that can begin before it is loaded as a whole."""

    info: Implementation
    stateless: Stateless
    limits: Limits

    @property
    def dispatch(self) -> Dispatch: ...
    @property
    def traffic(self) -> Traffic | None: ...
    @property
    def lifespan(self) -> LifespanState | None: ...


def start_early(service: Beginner, framing: FramingName) -> Begun:
    """Begin to speak with whoever is at stdin and stdout."""
    wires = private_fds.take()
    begun = Begun(Framer(service.limits.message_bytes, framing), Session(), Signals())
    begun.signals.catch()
    # Middleware may wait, and is around greetings, too; a log has each message; and a server whose
    # lifespan fails says nothing to its client.
    is_ready = service.lifespan is None or service.lifespan.entered
    if is_ready and not service.dispatch.has_middleware and service.traffic is None:
        peer = Peer(service.info, session=begun.session, stateless=service.stateless)
        begun.left = answer_handshake(
            service, peer, begun.framer, input_=wires.input, output=wires.output
        )
    return begun
