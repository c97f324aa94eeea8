"""`Server`: what an author writes tools, resources and prompts on.

asyncio takes as long to import as all the rest together. So what needs it is imported by the
methods that serve, logging when there is something to log, and what can be included when something
is.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache, partial
from typing import Any, Literal, Never, TypeVar, Unpack

from msgspec import UNSET, UnsetType

from ..features.author_checks import check_described, check_settings, text_of, version_of
from ..features.functions.markers import Current
from ..features.instructions import Instructions
from ..features.lifecycle import Lifecycle
from ..features.providers.prefix import Prefix
from ..import_without_gc import WithoutGc
from ..metrics import Metrics
from ..process.safe_logging import tell
from ..process.thread_pool import Lane
from ..protocol.calls import Exchange, Handler, Middleware
from ..protocol.framing import FramingName
from ..protocol.handshake import Session
from ..protocol.limits import Limits
from ..protocol.ports import Bus, OwnLifespan, Reader, Store, Writer
from ..protocol.subscriptions import ResourceChange
from ..serve.attachment import Attachment, AttachOptions, attach
from ..types.lifecycle import ServerCapabilities
from ..types.wire import Icon, Implementation
from .catalogue import Offers
from .dispatch import Dispatch
from .handles import Inclusion
from .keywords import (
    ASGI,
    HttpOptions,
    ListenerOptions,
    ServerInfo,
    Settled,
    Terms,
    TrafficSetting,
    check_flags,
    check_keywords,
    check_listening,
    check_no_loop,
    terms_of,
    traffic_of,
)
from .lifespans import Lifespans, check_lifespan
from .load_guard import is_held_back
from .registration import Registering
from .secrets import Secret, stateless

M = TypeVar("M", bytes, str, dict[str, Any])
LifespanFunction = Callable[["Server"], AbstractAsyncContextManager[Any]]


class Server(Registering, Settled):
    """A set of tools, resources and prompts that any MCP client can use.

    Args:
        name: what clients know it by.
        version: by default that of the package that makes it, or `0.0.0`.
        title: a name for people.
        description: what it is for, in a sentence.
        instructions: how to use its tools together; clients give it to the model.
        website_url: where to read more.
        icons: pictures, for clients that show some.
        providers: objects and servers whose offers are its own, too; see `include`.
        middleware: functions around every request, the first one outermost. Each takes the
            `Exchange` and the next one, and returns what comes of `await next(exchange)`.
        lifespan: takes the server and gives an async context manager, which is entered before the
            first call is run; what it yields is `ctx.lifespan`.
        store: where sessions and streams over HTTP are kept; by default in memory.
        bus: how several processes that serve the same tell each other what concerns them.
        secret: seals what clients carry for calls that ask; the first of several seals, all open.
            By default the variable TOOLHAFT_SECRET, or one made up at the start.
        page_size: how many entries a page of a list has; by default there is one page.
        limits: how much a client may ask for, and how long things may take.
        errors: what clients are told of unexpected errors: `mask` tells the class and an id that
            the log has, too; `show` tells the text as well.
        log_traffic: write down every message: True to the log, or a path, or a `TrafficLog`.

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
            title=_given(title),
            description=_given(description),
            website_url=_given(website_url),
            icons=list(icons) if icons else UNSET,
        )
        self._has_version = version is not None
        self.stateless = stateless(self.info, secret, self.limits.answer_seconds)
        self._show_errors = errors == "show"
        self._own = own = None if lifespan is None else _lifespan(partial(lifespan, self))
        self.lifespan = Lifespans(own)

        self._store = store
        # How other processes that serve the same are told what concerns them.
        self.bus = bus
        self.lane = Lane(self.limits.threads)
        self._session = Session()
        # Where each message is written down; to be set before it serves.
        self.traffic = traffic_of(log_traffic)

        super().__init__(
            Offers(page_size=page_size, limits=self.limits, mask=self.mask, context=self._context)
        )
        self.changes = self._offers.changes
        # How often what was called, how long it took, and how it ended.
        self.metrics = Metrics(name, self._offers.named)
        self._instructions = Instructions(instructions)
        handlers = self._table(Lifecycle(self.info, self._instructions, self.capabilities))
        # The way from the protocol to the features.
        self.dispatch = Dispatch(handlers, middleware, own)
        for provider in providers:
            self.include(provider)
        self._is_settled = True

    # What it says of itself, which may change while it is served. From any thread.

    @property
    def title(self) -> str | None:
        """A name for people. It may be set at any time, as may all that follows here; clients that
        ask later get what is set then, and with None nothing."""
        return _said(self.info.title)

    @title.setter
    def title(self, text: str | None) -> None:
        self._tell("title", text)

    @property
    def description(self) -> str | None:
        """What it is for, in a sentence."""
        return _said(self.info.description)

    @description.setter
    def description(self, text: str | None) -> None:
        self._tell("description", text)

    @property
    def website_url(self) -> str | None:
        """Where to read more."""
        return _said(self.info.website_url)

    @website_url.setter
    def website_url(self, url: str | None) -> None:
        self._tell("website_url", url)

    @property
    def icons(self) -> Sequence[Icon]:
        """Pictures, for clients that show some."""
        return tuple(self.info.icons or ())

    @icons.setter
    def icons(self, icons: Sequence[Icon]) -> None:
        # A text is left as it is, for the check to name it.
        self._tell("icons", icons if isinstance(icons, str) else list(icons) or None)

    @property
    def instructions(self) -> str | None:
        """How to use its tools together; clients give it to the model. The instructions of included
        servers are added when a client asks."""
        return self._instructions.own

    @instructions.setter
    def instructions(self, text: str | None) -> None:
        self._instructions.own = text

    def _tell(self, field: str, value: object) -> None:
        check_described("Server", **{field: value})
        setattr(self.info, field, _given(value))
        self.stateless.sign()

    def adopt(self, info: ServerInfo) -> None:
        """Say this of itself, as far as it was not told what to say."""
        for field, value in info.items():
            is_said = self._has_version if field == "version" else getattr(self.info, field)
            if not is_said:
                self._tell(field, value)
        self._has_version = self._has_version or "version" in info

    # Parts

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
        """Offer what an object offers: all of it, or nothing if something is wrong with it.

        An object takes part by methods that are marked with `@tool`, `@resource(…)` or `@prompt`,
        and by lists that are evaluated with each request, `tools()`, `prompts()`, `resources()` and
        `templates()`, with the handlers that answer for them: `call_tool(name, arguments, ctx)`,
        `get_prompt(name, arguments, ctx)` and `read_resource(uri, ctx)`. A handler is asked first;
        where it returns `NotImplemented`, the marked method of that name answers.

        With `discover`, the public methods of its class that have a docstring are tools as well,
        without a mark: those that the class itself defines, and neither properties nor class
        methods nor static methods.

        Another `Server` takes part with all it offers now and later, and with what it has around
        its calls: its lifespan and its middleware.

        Args:
            prefix: stands before all names: `git_log`, and `git+notes://all` for a URI.
            thread: plain lists and handlers of an object run on a thread; False runs them on the
                loop.
            discover: offer methods of an object that are not marked.
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

            return include(self._offers, provider, Prefix(prefix), thread=thread, discover=discover)
        if discover:
            raise TypeError(
                f"discover is for objects: {provider.name!r} is a Server, and offers all"
            )
        from .include_server import Mount  # noqa: PLC0415

        other = provider._offers
        if other.reaches(self._offers):
            raise ValueError(f"{provider.name!r} cannot be a part of itself")
        provider.metrics.join(self.metrics)
        mount = Mount(
            self._offers,
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
        """Tell every client that follows this resource that it has changed. From any thread."""
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
        """Serve one client over stdin and stdout, until it ends its side; or, with `http`, any
        number of clients over HTTP, until a signal comes. Returns at once while the file is only
        loaded, by a `toolhaft` command that serves it otherwise or not at all.

        Args:
            framing: one message per line, or Content-Length headers; by default whichever the
                client starts with.
            http: where to listen, as `HOST:PORT`, `PORT` or `unix:PATH`.
            path: where on that address.
            workers: how many processes serve.
            options: as in `Listener`.
        """
        check_listening(framing, http, path, workers, options)
        if is_held_back("stdio" if http is None else "http", options):
            return
        check_no_loop()
        if http is None:
            with WithoutGc():
                from ..serve.early_start import begin  # noqa: PLC0415

            begun = begin(self, framing)
            with WithoutGc():
                from ..serve.over_stdio import run_stdio  # noqa: PLC0415

            run_stdio(self, begun)
        else:
            from ..serve.listener import Listener  # noqa: PLC0415

            Listener(http, {path: self}, **options).run(workers=workers)  # pyright: ignore[reportArgumentType]

    def asgi(self, path: str = "/mcp", **options: Unpack[HttpOptions]) -> ASGI:
        """An ASGI application that serves this server, to be run by any ASGI server or mounted in
        any ASGI application, whether that one runs lifespans or not.

        Args:
            path: where, relative to where it is mounted. Mounted as the only thing at a path, it
                serves right there, too.
            options: as in `Listener`.
        """
        from ..serve.over_http import application  # noqa: PLC0415

        return application(path, self, terms_of("asgi()", options, Terms()))

    def attach(self, name: str | None = None, **options: Unpack[AttachOptions]) -> Attachment:
        """Serve this living process to any number of `toolhaft attach NAME`; returns at once.

        Args:
            name: the server's by default; `{pid}` in it becomes the id of the process.
            options: `socket`, a path instead of a name; `init` and `stop`, called when a client
                comes and when it has gone; `run_on`, as in `add_tool`, for all functions.
        """
        return attach(self, name, options)

    async def serve(self, reader: Reader, writer: Writer) -> None:
        """Serve one client over a pair of asyncio streams, until it ends its side."""
        from ..serve.over_stdio import serve_streams  # noqa: PLC0415

        await serve_streams(self, reader, writer)

    async def handle(self, message: M, session: Session | None = None) -> M | None:
        """Answer one JSON-RPC message, given as bytes, str or dict, in kind.

        None is the answer to what has none, such as a notification. Without a `session` all
        messages are of one client, which this server object remembers; notifications that a call
        sends on its way are dropped.
        """
        from ..serve.over_stdio import handle_message  # noqa: PLC0415

        return await handle_message(self, message, self._session if session is None else session)

    @property
    def store(self) -> Store:
        """Where sessions and streams are kept."""
        if self._store is None:
            from ..stores.memory import MemoryStore  # noqa: PLC0415

            with self._offers.lock:
                if self._store is None:  # nobody was quicker
                    self._store = MemoryStore()
        return self._store

    @property
    def tools_with_session(self) -> list[str]:
        """The names of tools that need a session."""
        return [tool.name for tool in self._offers.tools.registry if tool.needs_session]

    def capabilities(self) -> ServerCapabilities:
        """What the server offers, which is what is registered now."""
        return self._offers.capabilities()

    def mask(self, what: str, error: BaseException, /, *, show: bool | None = None) -> str:
        """What a client is told of an unexpected error; the log has the rest under the same id.

        Args:
            show: is the text told as well? By default as the server's setting says.
        """
        from logging import getLogger  # noqa: PLC0415

        mark = os.urandom(4).hex()
        log = getLogger(__name__)
        kind = getattr(error, "for_client", None)
        if kind is not None:  # a mistake of which the traceback says nothing
            tell(log.error, "%s failed (error %s): %s", what, mark, error)
        else:
            tell(log.error, "%s failed (error %s)", what, mark, exc_info=error)
        kind = kind or type(error).__name__
        if self._show_errors if show is None else show:
            return f"{what} failed: {kind}: {text_of(error)}"
        return f"{what} failed: {kind} (error {mark})"

    def _context(self, exchange: Exchange) -> Current:
        own = self._own
        return _context_class()(exchange, self, None if own is None else own.value)

    def _table(self, lifecycle: Lifecycle) -> dict[str, Handler]:
        offers = self._offers
        tools, resources, prompts = offers.tools, offers.resources, offers.prompts
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
            "completion/complete": offers.completions.complete,
            "subscriptions/listen": self.changes.listen,
        }


def _lifespan(opener: "partial[AbstractAsyncContextManager[Any]]") -> OwnLifespan:
    from ..calls.lifespan import Lifespan  # noqa: PLC0415

    check_lifespan(opener.func)
    return Lifespan(opener)


@cache
def _context_class() -> Callable[[Exchange, object, object], Current]:
    """Loaded with the first call that wants a context."""
    from ..features.context import Context  # noqa: PLC0415

    return Context


def _said(text: str | UnsetType) -> str | None:
    return None if text is UNSET else text


def _given(value: object) -> Any:
    return UNSET if value is None else value


def _caller() -> dict[str, Any]:
    """The globals of the module that makes a `Server`."""
    return sys._getframe(2).f_globals  # pyright: ignore[reportPrivateUsage]
