"""The interface of a `Server` to the transports, and connections to it."""

import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from functools import partial
from typing import Protocol

from ..process.safe_logging import log_safely
from ..process.thread_pool import ThreadPool
from ..protocol.calls import Counter, Dispatching
from ..protocol.handshake import Session
from ..protocol.limits import Limits
from ..protocol.peer import Peer
from ..protocol.ports import LifespanState, Place, Store, Traffic
from ..protocol.stateless import Stateless
from ..protocol.subscriptions import Listener
from ..types.wire import Implementation
from .call import RunningCall
from .connection import Connection
from .driver import Driver
from .logged_connection import LoggedConnection, LoggedOutput
from .output import Output

log = logging.getLogger(__name__)


class ChangeSource(Protocol):
    """A source of change notifications."""

    def join(self, listener: Listener, /) -> Callable[[], None]: ...


class Service(Protocol):
    """A server, as far as transports and calls use it."""

    name: str
    info: Implementation
    stateless: Stateless
    limits: Limits
    thread_pool: ThreadPool

    @property
    def lifespan(self) -> LifespanState | None: ...
    @property
    def store(self) -> Store: ...
    @property
    def changes(self) -> ChangeSource: ...
    @property
    def metrics(self) -> Counter: ...
    @property
    def traffic(self) -> Traffic | None: ...
    @property
    def dispatch(self) -> Dispatching: ...
    def mask(self, what: str, error: BaseException, /) -> str: ...


def log_summary(service: Service) -> None:
    """Log the totals of a service at its end."""
    if log.isEnabledFor(logging.INFO):
        log_safely(log.info, "%s has ended. %s", service.name, service.metrics.summary())


def driver_of(service: Service, store: Store, *, most_calls: int) -> Driver:
    """Return a driver for the calls of a service on the current loop."""
    limits = service.limits
    return Driver(
        service.dispatch.outcome,
        thread_pool=service.thread_pool,
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
    output: Output,
    *,
    session: Session | None = None,
    place: Place | None = None,
) -> AsyncGenerator[Connection]:
    """Open a connection for the block, within the service's lifespan.

    Args:
        place: where the author's functions run; by default, on the loop or a worker thread.
    """
    if service.lifespan is not None:
        service.lifespan.join()
    limits = service.limits
    driver = driver_of(service, service.store, most_calls=limits.calls)
    call = RunningCall if place is None else partial(RunningCall, place=place)
    make: Callable[..., Connection] = Connection
    if (traffic := service.traffic) is not None:
        name = traffic.connection()
        output = LoggedOutput(output, traffic, name)
        make = partial(LoggedConnection, traffic=traffic, name=name)
    connection = make(
        Peer(service.info, session=session, stateless=service.stateless, call=call),
        driver,
        output,
        message_bytes=limits.message_bytes,
        mask=service.mask,
    )
    leave = service.changes.join(connection.on_change)
    try:
        yield connection
    finally:
        leave()
        try:
            await driver.close(limits.finish_seconds)
        finally:  # also if the wait is cancelled
            if service.lifespan is not None:
                await service.lifespan.leave()
