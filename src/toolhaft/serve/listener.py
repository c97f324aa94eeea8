"""`Listener`: services over HTTP, each at its own path, on one address.

What speaks HTTP is slow to import, so it is imported when it serves.
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Never, Unpack

from ..protocol.handshake import SessionMode
from ..protocol.ports import Guard
from ..server.keywords import (
    ASGI,
    FixedSettings,
    HttpOptions,
    HttpTerms,
    ListenerOptions,
    RunnerName,
    ServerInfo,
    check_flags,
    check_info,
    check_keywords,
    check_no_loop,
    http_terms_of,
)
from ..server.load_guard import is_held_back
from ..server.server import Server
from .addresses import address


class Listener(FixedSettings):
    """Services over HTTP. What is said here holds for all of them, unless `mount` says otherwise.

    Args:
        bind: where to listen, as `HOST:PORT`, `PORT`, or `unix:PATH`. By default only this machine
            can reach it.
        services: what to serve, by path.
        sessions: whether clients that begin with `initialize` get a session: `stateful` always,
            `stateless` never, `auto` as they like. Newer clients have none.
        allow_hosts: names by which clients may call us, beyond those of the address itself; `*` is
            any name.
        allow_origins: origins whose pages may use us, beyond our own; `*` is any origin.
        guard: a function that says who is behind a request, by its headers. None turns it away; so
            does `Unauthorized`, which can say how to be let in.
        legacy_sse: serve the transport of the oldest revision too, at `…/sse`.
        tls: files of a certificate and its key, and the password of the key if it has one.
        runner: what speaks HTTP; each is an extra of its own.
        metrics: offer the metrics of all services at `/metrics`, as Prometheus reads them; of each
            service to whom it lets in.
        info: what servers say of themselves that were not told: `version`, `title`, `description`,
            `website_url` and `icons`, as in `Server`. A server that is mounted keeps it.
    """

    _settings = frozenset(("bind", "services", *ListenerOptions.__annotations__))

    def __init__(
        self,
        bind: str | int = "127.0.0.1:8000",
        services: Mapping[str, Server] | None = None,
        *,
        sessions: SessionMode = "auto",
        allow_hosts: Sequence[str] = (),
        allow_origins: Sequence[str] = (),
        guard: Guard | None = None,
        legacy_sse: bool = False,
        tls: tuple[str, str] | tuple[str, str, str] | None = None,
        runner: RunnerName = "uvicorn",
        metrics: bool = False,
        info: ServerInfo | None = None,
        **unknown: Never,
    ) -> None:
        check_keywords("Listener()", unknown, Listener.__init__)
        check_flags("Listener()", metrics=metrics)
        if services is not None and not isinstance(services, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError('services are given by path, as in Listener(8000, {"/mcp": server})')
        if tls is not None and (isinstance(tls, str) or len(tls) not in (2, 3)):
            raise TypeError("tls takes the files of a certificate and of its key: tls=(a, b)")
        if runner not in ("uvicorn", "granian"):
            raise ValueError(f"runner={runner!r}: expected 'uvicorn' or 'granian'")
        if info is not None:
            check_info(info)
        self._info: ServerInfo = info or {}
        from .over_http import Serving  # noqa: PLC0415

        self._serving = Serving(address(str(bind)), runner=runner, tls=tls, metrics=metrics)
        self._terms = HttpTerms(
            sessions=sessions,
            allow_hosts=allow_hosts,
            allow_origins=allow_origins,
            guard=guard,
            legacy_sse=legacy_sse,
        )
        for path, service in (services or {}).items():
            self.mount(path, service)
        self._is_initialized = True

    def mount(self, path: str, service: Server, **options: Unpack[HttpOptions]) -> None:
        """Serve something at a path, from now on. Keywords are as in `Listener`.

        Raises:
            TypeError: this is no server, or there is no such keyword.
            ValueError: it is not a path, or is taken.
        """
        if not isinstance(service, Server):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{path}: a service is a Server, not {service!r}")
        self._serving.mount(path, service, http_terms_of("mount()", options, self._terms))
        service.adopt(self._info)

    def unmount(self, path: str) -> Awaitable[None]:
        """Serve no more at a path, from now on. Its calls get a moment to finish: await the result
        to wait for that. From any thread; if nothing is served there, nothing happens."""
        return self._serving.app.unmount(path)

    @property
    def url(self) -> str:
        """Where it listens, without a path. A port that was left to the system is known once it
        serves."""
        return self._serving.url

    @property
    def app(self) -> ASGI:
        """All of it as an ASGI application."""
        return self._serving.app

    def run(self, *, workers: int = 1, **unknown: Never) -> None:
        """Serve until a signal comes; not at all while the file is only loaded by `toolhaft`.

        Args:
            workers: how many processes serve. They share no memory, so sessions need a store that
                they can share.
        """
        check_keywords("run()", unknown, Listener.run)
        if is_held_back("http", {"guard": self._terms.guard}):
            return
        check_no_loop()
        self._serving.run(workers)

    async def serve(self) -> None:
        """Serve on this loop, until `stop` is called or a signal comes."""
        await self._serving.serve()

    async def serving(self) -> str:
        """Wait until `serve` or `run` takes requests, with every lifespan entered, and tell the
        URL, without a path. The port is the real one, also where 0 was given.

        Raises:
            RuntimeError: it has ended, before that or since. `serve` may be called again, and then
                waited for.
        """
        return await self._serving.begun()

    def stop(self, *, now: bool = False) -> None:
        """End: streams complete and calls get a moment, or with `now` none. From any thread."""
        check_flags("stop()", now=now)
        self._serving.stop(now=now)
