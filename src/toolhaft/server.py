"""`Server`: what an author writes tools, resources and prompts on.

asyncio takes as long to import as all the rest together. So what needs it is imported when it
serves, in four functions here, and logging when there is something to log.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Any, Literal, TypeVar, Unpack, overload

from msgspec import UNSET

from .composing import Lifespans, Mount
from .dispatch import Dispatch
from .features.arguments import Arg
from .features.authoring import check_options, check_settings, text_of, version_of
from .features.context import Context
from .features.joining import Prefix
from .features.lifecycle import Lifecycle
from .features.resources import Cache
from .handles import Handles, Inclusion, PromptHandle, ResourceHandle, ToolHandle
from .offers import Offers
from .options import (
    ASGI,
    HttpOptions,
    ListenerOptions,
    PromptOptions,
    ResourceOptions,
    Terms,
    ToolOptions,
    check_listening,
)
from .protocol.calls import Exchange, Handler, Middleware
from .protocol.framing import FramingName
from .protocol.handshake import Session
from .protocol.interests import ResourceChange
from .protocol.limits import Limits
from .protocol.ports import Bus, LifespanState, Reader, Store, Writer
from .runtime.lane import Lane
from .runtime.memory import MemoryStore
from .sealing import Secret, stateless
from .types.content import Annotations
from .types.lifecycle import ServerCapabilities
from .types.wire import Icon, Implementation, Json, Meta

F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bytes, str, dict[str, Any])
LifespanFunction = Callable[["Server"], AbstractAsyncContextManager[Any]]


class Server:
    """A set of tools, resources and prompts that any MCP client can use."""

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
    ) -> None:
        check_settings(name, page_size, limits, errors)
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
        self.stateless = stateless(self.info, secret, self.limits.answer_seconds)
        self._show_errors = errors == "show"
        own = None if lifespan is None else _lifespan(partial(lifespan, self))
        self.lifespan = Lifespans(own)

        # Where sessions and streams are kept.
        self.store: Store = store if store is not None else MemoryStore()
        # How other processes that serve the same are told what concerns them.
        self.bus = bus
        self.lane = Lane(self.limits.threads)
        self._session = Session()

        self._offers = Offers(
            page_size=page_size, limits=self.limits, mask=self.mask, context=self._context
        )
        self.changes = self._offers.changes
        handlers = self._table(Lifecycle(self.info, instructions, self.capabilities))
        # The way from the protocol to the features.
        self.dispatch = Dispatch(handlers, middleware, own)
        for provider in providers:
            self.include(provider)

    # Registration

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Let models call a function. Bare, or with keywords as in `add_tool`."""
        check_options("@server.tool", function, options, ToolOptions)

        def register(function: F) -> F:
            self.add_tool(function, **options)
            return function

        return register if function is None else register(function)

    def add_tool(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        read_only: bool | None = None,
        destructive: bool | None = None,
        idempotent: bool | None = None,
        open_world: bool | None = None,
        category: str | None = None,
        tags: Sequence[str] = (),
        icons: Sequence[Icon] = (),
        meta: Meta | None = None,
        args: Sequence[Arg] | None = None,
        input_schema: dict[str, Json] | None = None,
        output_schema: dict[str, Json] | None = None,
        strict: bool = False,
        timeout: float | None = None,
        limit: int | None = None,
        cache: float = 0,
        thread: bool = True,
        replace: bool = False,
    ) -> ToolHandle:
        """Register a tool. The handle removes, changes or disables it while it is served.

        Args:
            description: what the model reads; by default the docstring, without its sections.
            read_only, destructive, idempotent, open_world: hints for clients; unset is not false.
            category, tags: for clients that sort their tools; sent in `_meta`.
            args: the arguments, told one by one instead of by annotations.
            input_schema, output_schema: JSON Schemas to publish and to check by, instead of those
                made of the annotations. With an input schema the function may take `**arguments`.
            strict: refuse "7" for an integer, and JSON in a string.
            timeout: seconds after which the call fails.
            limit: how many calls of this tool may run at once; more of them wait in line.
            cache: for how many seconds a client may keep the description of this tool.
            thread: a plain function runs on a thread; False runs it on the loop, which is quicker
                and right for functions that only compute.
            replace: take the place of a tool of the same name.

        Raises:
            TypeError: the function cannot be a tool; the message says what to change.
            ValueError: there is a tool of this name already, or a schema is not one.
        """
        return self._offers.add_tool(
            function,
            name=name,
            title=title,
            description=description,
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent,
            open_world=open_world,
            category=category,
            tags=tags,
            icons=icons,
            meta=meta,
            args=args,
            input_schema=input_schema,
            output_schema=output_schema,
            strict=strict,
            timeout=timeout,
            limit=limit,
            cache=cache,
            thread=thread,
            replace=replace,
        )

    def remove_tool(self, name: str) -> None:
        """Take a tool away. Raises KeyError if there is none of this name."""
        self.tools[name].remove()

    def resource(self, uri: str, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Let clients read what a function returns, under a URI or a template of URIs. Keywords
        are as in `add_resource`."""
        if not isinstance(uri, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError('@server.resource needs a URI, as in @server.resource("notes://all")')
        check_options("@server.resource", None, options, ResourceOptions)

        def register(function: F) -> F:
            self.add_resource(function, uri, **options)
            return function

        return register

    def add_resource(
        self,
        function: Callable[..., Any],
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        icons: Sequence[Icon] = (),
        annotations: Annotations | None = None,
        meta: Meta | None = None,
        cache: float | Cache | None = None,
        raw: bool = False,
        timeout: float | None = None,
        limit: int | None = None,
        thread: bool = True,
        replace: bool = False,
    ) -> ResourceHandle:
        """Register a resource; a `{` in the URI makes it a template.

        Args:
            cache: for how many seconds a client may keep what it read; or a `Cache`.
            raw: give the variables as they were sent, with their percent escapes.
            timeout, limit, thread, replace: as in `add_tool`.

        Raises:
            TypeError: the function's parameters are not the variables of the template.
            ValueError: the URI is no template, or is taken.
        """
        return self._offers.add_resource(
            function,
            uri,
            name=name,
            title=title,
            description=description,
            mime_type=mime_type,
            size=size,
            icons=icons,
            annotations=annotations,
            meta=meta,
            cache=cache,
            raw=raw,
            timeout=timeout,
            limit=limit,
            thread=thread,
            replace=replace,
        )

    def remove_resource(self, uri: str) -> None:
        """Take a resource or a template away. Raises KeyError if there is none of this URI."""
        self.resources[uri].remove()

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(self, /, **options: Unpack[PromptOptions]) -> Callable[[F], F]: ...
    def prompt(self, function: Any = None, /, **options: Any) -> Any:
        """Let users pick messages that a function writes. Bare, or with keywords."""
        check_options("@server.prompt", function, options, PromptOptions)

        def register(function: F) -> F:
            self.add_prompt(function, **options)
            return function

        return register if function is None else register(function)

    def add_prompt(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] = (),
        meta: Meta | None = None,
        timeout: float | None = None,
        limit: int | None = None,
        thread: bool = True,
        replace: bool = False,
    ) -> PromptHandle:
        """Register a prompt. Keywords are as in `add_tool`, and it raises what that raises."""
        return self._offers.add_prompt(
            function,
            name=name,
            title=title,
            description=description,
            icons=icons,
            meta=meta,
            timeout=timeout,
            limit=limit,
            thread=thread,
            replace=replace,
        )

    def remove_prompt(self, name: str) -> None:
        """Take a prompt away. Raises KeyError if there is none of this name."""
        self.prompts[name].remove()

    @property
    def tools(self) -> Handles[ToolHandle]:
        """The handles of all tools that are registered, by name."""
        return self._offers.tool_handles

    @property
    def resources(self) -> Handles[ResourceHandle]:
        """The handles of all resources and templates that are registered, by URI."""
        return self._offers.resource_handles

    @property
    def prompts(self) -> Handles[PromptHandle]:
        """The handles of all prompts that are registered, by name."""
        return self._offers.prompt_handles

    def include(
        self, provider: object, prefix: str | None = None, *, thread: bool = True
    ) -> Inclusion:
        """Offer what an object offers: all of it, or nothing if something is wrong with it.

        An object takes part by methods that are marked with `@tool`, `@resource(…)` or `@prompt`,
        and by lists that are evaluated with each request, `tools()`, `prompts()`, `resources()` and
        `templates()`, with the handlers that answer for them: `call_tool(name, arguments, ctx)`,
        `get_prompt(name, arguments, ctx)` and `read_resource(uri, ctx)`. A handler is asked first;
        where it returns `NotImplemented`, the marked method of that name answers.

        Another `Server` takes part with all it offers now and later, and with what it has around
        its calls: its lifespan and its middleware.

        Args:
            prefix: stands before all names: `git_log`, and `git+notes://all` for a URI.
            thread: plain lists and handlers of an object run on a thread; False runs them on the
                loop.

        Raises:
            TypeError: there is nothing to include, or a method does not take what it is given.
            ValueError: a name is taken.
        """
        if not isinstance(provider, Server):
            return self._offers.include(provider, Prefix(prefix), thread=thread)
        other = provider._offers
        if other.reaches(self._offers):
            raise ValueError(f"{provider.name!r} cannot be a part of itself")
        mount = Mount(self._offers, other, provider.dispatch, Prefix(prefix), self.lifespan)
        return mount.include(provider.lifespan)

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
        number of clients over HTTP, until a signal comes.

        Args:
            framing: one message per line, or Content-Length headers; by default whichever the
                client starts with.
            http: where to listen, as `HOST:PORT`, `PORT` or `unix:PATH`.
            path: where on that address.
            workers: how many processes serve.
            options: as in `Listener`.
        """
        check_listening(http, path, workers, options)
        if http is None:
            from .run import run_stdio  # noqa: PLC0415

            run_stdio(self, framing)
        else:
            from .listener import Listener  # noqa: PLC0415

            Listener(http, {path: self}, **options).run(workers=workers)

    def asgi(self, path: str = "/mcp", **options: Unpack[HttpOptions]) -> ASGI:
        """An ASGI application that serves this server, to be run by any ASGI server or mounted in
        any ASGI application, whether that one runs lifespans or not.

        Args:
            path: where, relative to where it is mounted. Mounted as the only thing at a path, it
                serves right there, too.
            options: as in `Listener`.
        """
        from .serving import application  # noqa: PLC0415

        return application(path, self, Terms(**options))

    async def serve(self, reader: Reader, writer: Writer) -> None:
        """Serve one client over a pair of asyncio streams, until it ends its side."""
        from .run import serve_streams  # noqa: PLC0415

        await serve_streams(self, reader, writer)

    async def handle(self, message: M, session: Session | None = None) -> M | None:
        """Answer one JSON-RPC message, given as bytes, str or dict, in kind.

        None is the answer to what has none, such as a notification. Without a `session` all
        messages are of one client, which this server object remembers; notifications that a call
        sends on its way are dropped.
        """
        from .run import handle_message  # noqa: PLC0415

        return await handle_message(self, message, self._session if session is None else session)

    def capabilities(self) -> ServerCapabilities:
        """What the server offers, which is what is registered now."""
        return self._offers.capabilities()

    def mask(self, what: str, error: BaseException) -> str:
        """What a client is told of an unexpected error; the log has the rest under the same id."""
        from logging import getLogger  # noqa: PLC0415

        mark = os.urandom(4).hex()
        log = getLogger(__name__)
        kind = getattr(error, "for_client", None)
        with suppress(Exception):  # of the author's own handlers; the client is told all the same
            if kind is not None:  # a mistake of which the traceback says nothing
                log.error("%s failed (error %s): %s", what, mark, error)
            else:
                log.error("%s failed (error %s)", what, mark, exc_info=error)
        kind = kind or type(error).__name__
        if self._show_errors:
            return f"{what} failed: {kind}: {text_of(error)}"
        return f"{what} failed: {kind} (error {mark})"

    def _context(self, exchange: Exchange) -> Context:
        return Context(exchange, self, self.lifespan.value)

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


def _lifespan(opener: Callable[[], AbstractAsyncContextManager[Any]]) -> LifespanState:
    from .runtime.lifespan import Lifespan  # noqa: PLC0415

    return Lifespan(opener)


def _given(text: str | None) -> Any:
    return UNSET if text is None else text


def _caller() -> dict[str, Any]:
    """The globals of the module that makes a `Server`."""
    return sys._getframe(2).f_globals  # pyright: ignore[reportPrivateUsage]
