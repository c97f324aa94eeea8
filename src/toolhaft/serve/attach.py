"""`server.attach`: a model inside a program that is running already."""

import os
from collections.abc import Callable
from typing import Any, Protocol

from toolhaft_bridge.socket_directory import (
    SUFFIX,
    check_name,
    check_path,
    name_from,
    own_directory,
)

from ..calls.run_on import place_of
from ..calls.service import Service
from ..metrics import Metrics
from ..transports.attach.host import Host, unix_socket
from .attachment import Attachment


class Measuring(Service, Protocol):
    """A server, which can say what was asked of it."""

    @property
    def metrics(self) -> Metrics: ...


def attached(
    server: Measuring,
    name: str | None = None,
    *,
    socket: str | os.PathLike[str] | None = None,
    init: Callable[[], Any] | None = None,
    stop: Callable[[], Any] | None = None,
    run_on: Any = None,
) -> Attachment:
    """See `Server.attach`."""
    for keyword, hook in (("init", init), ("stop", stop)):
        if hook is not None and not callable(hook):
            raise TypeError(f"{keyword} takes a function without arguments, not {hook!r}")
    if socket is not None and name is not None:
        raise TypeError("attach takes a name or a socket: the name says where its socket is")
    place = None if run_on is None else place_of(run_on)
    if socket is None:
        name = name_from(server.name) if name is None else check_name(_with_pid(name))
        path = os.path.join(own_directory(), name + SUFFIX)
    else:
        given: str = os.fspath(socket)
        path = os.path.abspath(given)
    unix = unix_socket(check_path(path), name)

    def reset() -> dict[str, Any]:
        text = server.metrics.text()
        server.metrics.reset()
        return {"text": text}

    answers = {"metrics": lambda: {"text": server.metrics.text()}, "reset-metrics": reset}
    host = Host(server, unix, name=name, init=init, stop=stop, place=place, answers=answers)
    host.start()
    return Attachment(name, path, host)


def _with_pid(name: str) -> str:
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"the name of a process is a str, not {name!r}")
    return name.replace("{pid}", str(os.getpid()))
