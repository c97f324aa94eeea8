"""What is served: a `Server`, as the transports need to know it."""

import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Protocol

from ..process.safe_logging import tell
from ..process.thread_pool import Lane
from ..protocol.calls import Counter, Dispatching
from ..protocol.handshake import Session
from ..protocol.limits import Limits
from ..protocol.peer import Peer
from ..protocol.ports import LifespanState, Place, Store, Traffic
from ..protocol.stateless import Stateless
from ..protocol.subscriptions import Listener
from ..types.wire import Implementation
from .call import Running
from .connection import Connection
from .driver import Driver
from .logged_connection import LoggedConnection, LoggedOutlet
from .output import Outlet

log = logging.getLogger(__name__)


class Audience(Protocol):
    """Where listeners join to hear of changes."""

    def join(self, listener: Listener, /) -> Callable[[], None]: ...


class Service(Protocol):
    """Tools, resources and prompts, and what calls of them need."""

    name: str
    info: Implementation
    stateless: Stateless
    limits: Limits
    lane: Lane

    @property
    def lifespan(self) -> LifespanState | None: ...
    @property
    def store(self) -> Store: ...
    @property
    def changes(self) -> Audience: ...
    @property
    def metrics(self) -> Counter: ...
    @property
    def traffic(self) -> Traffic | None: ...
    @property
    def dispatch(self) -> Dispatching: ...
    def mask(self, what: str, error: BaseException, /) -> str: ...


def log_summary(service: Service) -> None:
    """For the end of a service: how much it was asked for."""
    if log.isEnabledFor(logging.INFO):
        tell(log.info, "%s has ended. %s", service.name, service.metrics.summary())


def driver_of(service: Service, store: Store, *, most_calls: int) -> Driver:
    """What runs the calls of a service, on the loop that runs now."""
    limits = service.limits
    return Driver(
        service.dispatch.outcome,
        lane=service.lane,
        most_calls=most_calls,
        mask=service.mask,
        answer_seconds=limits.answer_seconds,
        cleanup_seconds=limits.cleanup_seconds,
        progress_per_second=limits.progress_per_second,
        store=store,
        counter=service.metrics,
    )


@contextlib.asynccontextmanager
async def connected(
    service: Service,
    outlet: Outlet,
    *,
    session: Session | None = None,
    place: Place | None = None,
) -> AsyncGenerator[Connection]:
    """A connection that lives as long as the block, within the service's lifespan.

    Args:
        place: where the author's functions run; by default, wherever is best for them.
    """
    if service.lifespan is not None:
        service.lifespan.join()
    limits = service.limits
    driver = driver_of(service, service.store, most_calls=limits.calls)
    call = Running if place is None else partial(Running, place=place)
    make: Callable[..., Connection] = Connection
    if (traffic := service.traffic) is not None:
        name = traffic.connection()
        outlet = LoggedOutlet(outlet, traffic, name)
        make = partial(LoggedConnection, traffic=traffic, name=name)
    connection = make(
        Peer(service.info, session=session, stateless=service.stateless, call=call),
        driver,
        outlet,
        message_bytes=limits.message_bytes,
        mask=service.mask,
    )
    leave = service.changes.join(connection.heard)
    try:
        yield connection
    finally:
        leave()
        try:
            await driver.close(limits.finish_seconds)
        finally:  # who cancels that wait ends the service all the same
            if service.lifespan is not None:
                await service.lifespan.leave()
