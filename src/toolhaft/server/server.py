"""`Server`: the object on which an author registers tools, resources and prompts.

Importing asyncio takes as long as all the rest together. So modules that need it are imported by
the methods that serve, `logging` with the first log record, and the modules for inclusion by
`include`.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache, partial
from typing import Any, Literal, Never, TypeVar, Unpack

from msgspec import UNSET, UnsetType

from ..features.author_checks import check_described, check_settings, text_of, version_of
from ..features.functions.markers import BaseContext
from ..features.instructions import Instructions
from ..features.lifecycle import Lifecycle
from ..features.providers.prefix import Prefix
from ..import_without_gc import WithoutGc
from ..metrics import Metrics
from ..process.safe_logging import log_safely
from ..process.thread_pool import ThreadPool
from ..protocol.calls import Exchange, Handler, Middleware
from ..protocol.framing import FramingName
from ..protocol.handshake import Session
from ..protocol.limits import Limits
from ..protocol.ports import Bus, OwnLifespan, Reader, Store, Writer
from ..protocol.subscriptions import ResourceChange
from ..serve.attachment import Attachment, AttachOptions, attach
from ..types.lifecycle import ServerCapabilities
from ..types.wire import Icon, Implementation
from .catalogue import Catalogue
from .dispatch import Dispatch
from .handles import Inclusion
from .keywords import (
    ASGI,
    FixedSettings,
    HttpOptions,
    HttpTerms,
    ListenerOptions,
    ServerInfo,
    TrafficSetting,
    check_flags,
    check_keywords,
    check_listening,
    check_no_loop,
    http_terms_of,
    traffic_of,
)
from .lifespans import Lifespans, check_lifespan
from .load_guard import is_held_back
from .registration import Registration
from .secrets import Secret, stateless

M = TypeVar("M", bytes, str, dict[str, Any])
LifespanFunction = Callable[["Server"], AbstractAsyncContextManager[Any]]


class Server(Registration, FixedSettings):
    """A set of tools, resources and prompts that any MCP client can use.

    Args:
        name: its name for clients.
        version: by default that of the package that creates it, or `0.0.0`.
        title: a display name.
        description: what it is for, in a sentence.
        instructions: how to use its tools together; clients give it to the model.
        website_url: where to read more.
        icons: pictures, for clients that show some.
        providers: objects and servers to include; see `include`.
        middleware: functions around every request, the first one outermost. Each takes the
            `Exchange` and the next function, and returns the result of `await next(exchange)`.
        lifespan: takes the server and returns an async context manager, which is entered before
            the first call; the value that it yields is `ctx.lifespan`.
        store: where sessions and streams over HTTP are kept; by default in memory.
        bus: carries messages between processes that serve the same server.
        secret: seals the request state that clients carry for calls with questions; the first of
            several seals, all open. By default the variable TOOLHAFT_SECRET, or a random one.
        page_size: entries per page of a list; by default a list is one page.
        limits: bounds on sizes, numbers and durations.
        errors: text of unexpected errors for clients: `mask` sends the class and an id that is also
            in the log; `show` sends the message as well.
        log_traffic: log every message: True to the log, or a path, or a `TrafficLog`.

    Raises:
        TypeError: a setting is of the wrong type.
        ValueError: a setting makes no sense; the message says what would.
    """

    _settings = frozenset((
        "name", "version", "info", "providers", "middleware", "lifespan", "store", "bus", "secret",
        "page_size", "limits", "errors", "log_traffic",
    ))  # fmt: skip

    def __init__(
        self,
        name: str,
        *,
        version: str | None = None,
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        website_url: str | None = None,
        icons: Sequence[Icon] = (),
        providers: Sequence[object] = (),
        middleware: Sequence[Middleware] = (),
        lifespan: LifespanFunction | None = None,
        store: Store | None = None,
        bus: Bus | None = None,
        secret: Secret | Sequence[Secret] | None = None,
        page_size: int | None = None,
        limits: Limits | None = None,
        errors: Literal["mask", "show"] = "mask",
        log_traffic: TrafficSetting = False,
        **unknown: Never,
    ) -> None:
        check_keywords("Server()", unknown, Server.__init__)
        check_settings(
            name,
            page_size,
            limits,
            errors,
            version=version,
            title=title,
            description=description,
            instructions=instructions,
            website_url=website_url,
            icons=icons,
            providers=providers,
            lifespan=lifespan,
        )
        self.name = name
        self.limits = limits if limits is not None else Limits()
        self.info = Implementation(
            name=name,
            version=version if version is not None else version_of(_caller()),
            title=_unset_if_none(title),
            description=_unset_if_none(description),
            website_url=_unset_if_none(website_url),
            icons=list(icons) if icons else UNSET,
        )
        self._has_version = version is not None
        self.stateless = stateless(self.info, secret, self.limits.answer_seconds)
        self._show_errors = errors == "show"
        self._own_lifespan = own = None if lifespan is None else _lifespan(partial(lifespan, self))
        self.lifespan = Lifespans(own)

        self._store = store
        # Messages to other processes that serve the same server.
        self.bus = bus
        self.thread_pool = ThreadPool(self.limits.threads)
        self._session = Session()
        # Log of all messages, or None; set before serving.
        self.traffic = traffic_of(log_traffic)

        super().__init__(
            Catalogue(
                page_size=page_size, limits=self.limits, mask=self.mask, context=self._context
            )
        )
        self.changes = self._catalogue.changes
        # Counts, durations and outcomes of calls.
        self.metrics = Metrics(name, self._catalogue.registered_name)
        self._instructions = Instructions(instructions)
        handlers = self._handlers(Lifecycle(self.info, self._instructions, self.capabilities))
        # From a call to its handler.
        self.dispatch = Dispatch(handlers, middleware, own)
        for provider in providers:
            self.include(provider)
        self._is_initialized = True

    # Server info, which may be set while serving, from any thread.

    @property
    def title(self) -> str | None:
        """A display name. Like the following properties it may be set at any time; later
        requests of clients get the new value. None removes it."""
        return _none_if_unset(self.info.title)

    @title.setter
    def title(self, text: str | None) -> None:
        self._set_info("title", text)

    @property
    def description(self) -> str | None:
        """What it is for, in a sentence."""
        return _none_if_unset(self.info.description)

    @description.setter
    def description(self, text: str | None) -> None:
        self._set_info("description", text)

    @property
    def website_url(self) -> str | None:
        """Where to read more."""
        return _none_if_unset(self.info.website_url)

    @website_url.setter
    def website_url(self, url: str | None) -> None:
        self._set_info("website_url", url)

    @property
    def icons(self) -> Sequence[Icon]:
        """Pictures, for clients that show some."""
        return tuple(self.info.icons or ())

    @icons.setter
    def icons(self, icons: Sequence[Icon]) -> None:
        # Not split into characters, so that the check names it.
        self._set_info("icons", icons if isinstance(icons, str) else list(icons) or None)

    @property
    def instructions(self) -> str | None:
        """How to use its tools together; clients give it to the model. Clients also get the
        instructions of included servers."""
        return self._instructions.own

    @instructions.setter
    def instructions(self, text: str | None) -> None:
        self._instructions.own = text

    def _set_info(self, field: str, value: object) -> None:
        check_described("Server", **{field: value})
        setattr(self.info, field, _unset_if_none(value))
        self.stateless.sign()

    def adopt(self, info: ServerInfo) -> None:
        """Set the fields of `info` that are unset; for `Listener`."""
        for field, value in info.items():
            is_set = self._has_version if field == "version" else getattr(self.info, field)
            if not is_set:
                self._set_info(field, value)
        self._has_version = self._has_version or "version" in info

    # Inclusion

    def include(
        self,
        provider: object,
        prefix: str | None = None,
        *,
        thread: bool = True,
        discover: bool = False,
        instructions: bool = True,
        **unknown: Never,
    ) -> Inclusion:
        """Include the entries of an object or of another server: all of them, or none on an error.

        An object provides methods that are marked with `@tool`, `@resource(…)` or `@prompt`, and
        lists that are evaluated with each request, `tools()`, `prompts()`, `resources()` and
        `templates()`, with handlers for their entries: `call_tool(name, arguments, ctx)`,
        `get_prompt(name, arguments, ctx)` and `read_resource(uri, ctx)`. A handler is called first;
        if it returns `NotImplemented`, the marked method of that name is called.

        With `discover`, public methods with a docstring that the class itself defines are tools as
        well, without a mark; properties, class methods and static methods are not.

        Another `Server` provides all its entries, now and later, together with its lifespan and
        its middleware.

        Args:
            prefix: prepended to all names: `git_log`, and `git+notes://all` for a URI.
            thread: run plain lists and handlers of an object in the thread pool; False runs them
                on the event loop.
            discover: make tools of unmarked methods of an object.
            instructions: add the instructions of a `Server` to those of this one; False leaves
                them out.

        Raises:
            TypeError: there is nothing to include, or a method does not take what it is given.
            ValueError: a name is taken.
        """
        check_keywords("include()", unknown, Server.include)
        check_flags("include()", thread=thread, discover=discover, instructions=instructions)
        if not isinstance(provider, Server):
            from .include_object import include  # noqa: PLC0415

            return include(
                self._catalogue, provider, Prefix(prefix), thread=thread, discover=discover
            )
        if discover:
            raise TypeError(
                f"discover is for objects: {provider.name!r} is a Server, and offers all"
            )
        from .include_server import Mount  # noqa: PLC0415

        other = provider._catalogue
        if other.reaches(self._catalogue):
            raise ValueError(f"{provider.name!r} cannot be a part of itself")
        provider.metrics.join(self.metrics)
        mount = Mount(
            self._catalogue,
            other,
            provider.dispatch,
            Prefix(prefix),
            self.lifespan,
            provider.metrics,
        )
        inclusion = mount.include(provider.lifespan)
        if instructions:
            inclusion.add(self._instructions.include(provider._instructions, Prefix(prefix)))
        return inclusion

    def resource_updated(self, uri: str) -> None:
        """Notify every client that subscribes to this resource of a change. From any thread."""
        self.changes.publish(ResourceChange(uri))

    # Serving

    def run(
        self,
        *,
        framing: FramingName = "auto",
        http: str | int | None = None,
        path: str = "/mcp",
        workers: int = 1,
        **options: Unpack[ListenerOptions],
    ) -> None:
        """Serve one client over stdin and stdout, until the end of stdin; or, with `http`, any
        number of clients over HTTP, until a signal. Returns at once while a `toolhaft` command
        loads the file to serve it by another transport or not at all.

        Args:
            framing: one message per line, or Content-Length headers; by default whichever the
                client starts with.
            http: where to listen, as `HOST:PORT`, `PORT` or `unix:PATH`.
            path: URL path of the endpoint.
            workers: number of processes.
            options: as in `Listener`.
        """
        check_listening(framing, http, path, workers, options)
        if is_held_back("stdio" if http is None else "http", options):
            return
        check_no_loop()
        if http is None:
            with WithoutGc():
                from ..serve.early_start import start_early  # noqa: PLC0415

            started = start_early(self, framing)
            with WithoutGc():
                from ..serve.over_stdio import run_stdio  # noqa: PLC0415

            run_stdio(self, started)
        else:
            from ..serve.listener import Listener  # noqa: PLC0415

            Listener(http, {path: self}, **options).run(workers=workers)  # pyright: ignore[reportArgumentType]

    def asgi(self, path: str = "/mcp", **options: Unpack[HttpOptions]) -> ASGI:
        """Return an ASGI application, to be run by any ASGI server or mounted in any ASGI
        application, whether that one runs lifespans or not.

        Args:
            path: URL path of the endpoint, relative to the mount path. The mount path itself is
                served, too.
            options: as in `Listener`.
        """
        from ..serve.over_http import application  # noqa: PLC0415

        return application(path, self, http_terms_of("asgi()", options, HttpTerms()))

    def attach(self, name: str | None = None, **options: Unpack[AttachOptions]) -> Attachment:
        """Serve from this running process to any number of `toolhaft attach NAME`; returns at once.

        Args:
            name: the server's by default; `{pid}` in it becomes the id of the process.
            options: `socket`, a path instead of a name; `init` and `stop`, called when a client
                connects and after it disconnects; `run_on`, as in `add_tool`, for all functions.
        """
        return attach(self, name, options)

    async def serve(self, reader: Reader, writer: Writer) -> None:
        """Serve one client over a pair of asyncio streams, until the end of the input."""
        from ..serve.over_stdio import serve_streams  # noqa: PLC0415

        await serve_streams(self, reader, writer)

    async def handle(self, message: M, session: Session | None = None) -> M | None:
        """Answer one JSON-RPC message, given as bytes, str or dict, in the same type.

        Returns None for a message without an answer, such as a notification. Without a `session`,
        all messages belong to one session of this object. Notifications that a call sends before
        its answer are dropped.
        """
        from ..serve.over_stdio import handle_message  # noqa: PLC0415

        return await handle_message(self, message, self._session if session is None else session)

    @property
    def store(self) -> Store:
        """The store of sessions and streams."""
        if self._store is None:
            from ..stores.memory import MemoryStore  # noqa: PLC0415

            with self._catalogue.lock:
                if self._store is None:  # another thread may have set it
                    self._store = MemoryStore()
        return self._store

    @property
    def tools_with_session(self) -> list[str]:
        """The names of tools that need a session."""
        return [tool.name for tool in self._catalogue.tools.registry if tool.needs_session]

    def capabilities(self) -> ServerCapabilities:
        """Return the capabilities for the entries that are registered now."""
        return self._catalogue.capabilities()

    def mask(self, what: str, error: BaseException, /, *, show: bool | None = None) -> str:
        """Log an unexpected error; return its text for the client, with the id of the log record.

        Args:
            show: whether the text has the message of the error; by default the setting `errors`.
        """
        from logging import getLogger  # noqa: PLC0415

        mark = os.urandom(4).hex()
        log = getLogger(__name__)
        kind = getattr(error, "for_client", None)
        if kind is not None:  # its traceback does not help
            log_safely(log.error, "%s failed (error %s): %s", what, mark, error)
        else:
            log_safely(log.error, "%s failed (error %s)", what, mark, exc_info=error)
        kind = kind or type(error).__name__
        if self._show_errors if show is None else show:
            return f"{what} failed: {kind}: {text_of(error)}"
        return f"{what} failed: {kind} (error {mark})"

    def _context(self, exchange: Exchange) -> BaseContext:
        own = self._own_lifespan
        return _context_class()(exchange, self, None if own is None else own.value)

    def _handlers(self, lifecycle: Lifecycle) -> dict[str, Handler]:
        catalogue = self._catalogue
        tools, resources, prompts = catalogue.tools, catalogue.resources, catalogue.prompts
        return {
            "initialize": lifecycle.initialize,
            "ping": lifecycle.ping,
            "server/discover": lifecycle.discover,
            "logging/setLevel": lifecycle.set_level,
            "tools/list": tools.list,
            "tools/call": tools.call,
            "resources/list": resources.list,
            "resources/templates/list": resources.list_templates,
            "resources/read": resources.read,
            "resources/subscribe": self.changes.subscribe,
            "resources/unsubscribe": self.changes.unsubscribe,
            "prompts/list": prompts.list,
            "prompts/get": prompts.get,
            "completion/complete": catalogue.completions.complete,
            "subscriptions/listen": self.changes.listen,
        }


def _lifespan(opener: "partial[AbstractAsyncContextManager[Any]]") -> OwnLifespan:
    from ..calls.lifespan import Lifespan  # noqa: PLC0415

    check_lifespan(opener.func)
    return Lifespan(opener)


@cache
def _context_class() -> Callable[[Exchange, object, object], BaseContext]:
    """Import `Context` with the first call that uses one."""
    from ..features.context import Context  # noqa: PLC0415

    return Context


def _none_if_unset(text: str | UnsetType) -> str | None:
    return None if text is UNSET else text


def _unset_if_none(value: object) -> Any:
    return UNSET if value is None else value


def _caller() -> dict[str, Any]:
    """Return the globals of the module that creates a `Server`."""
    return sys._getframe(2).f_globals  # pyright: ignore[reportPrivateUsage]
