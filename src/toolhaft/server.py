"""`Server`: what an author writes tools, resources and prompts on.

asyncio takes as long to import as all the rest together. So what needs it is imported when it
serves, in five functions here, and logging when there is something to log.
"""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Literal, TypeVar, Unpack, overload

from msgspec import UNSET

from .dispatch import Dispatch
from .features.authoring import (
    check_bounds,
    check_cache,
    check_options,
    check_settings,
    name_of,
    text_of,
    version_of,
)
from .features.calling import Callee
from .features.changes import Changes
from .features.completion import Completions
from .features.context import Context
from .features.lifecycle import Lifecycle
from .features.prompts import Prompt, Prompts
from .features.registry import Registry
from .features.resources import Cache, Resource, Resources, key_of
from .features.signature import Signature
from .features.tools import Tool, ToolDetails, Tools, hints
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
from .protocol.interests import ListChange, ListKind, ResourceChange
from .protocol.limits import Limits
from .protocol.ports import Bus, Gate, LifespanState, Reader, Store, Writer
from .runtime.lane import Lane
from .runtime.memory import MemoryStore
from .sealing import Secret, stateless
from .types.content import Annotations
from .types.lifecycle import ListChanged, ResourcesCapability, ServerCapabilities
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
        self.lifespan = None if lifespan is None else _lifespan(partial(lifespan, self))

        # Where sessions and streams are kept.
        self.store: Store = store if store is not None else MemoryStore()
        # How other processes that serve the same are told what concerns them.
        self.bus = bus
        self.lane = Lane(self.limits.threads)
        self._session = Session()

        self.changes = Changes(self._followed)
        self._tools = Tools(
            Registry("tool", page_size, self._tell("tools")),
            mask=self.mask,
        )
        self._resources = Resources(
            Registry("resource", page_size, self._tell("resources")),
            Registry("template", page_size, self._tell("resources")),
        )
        self._prompts = Prompts(Registry("prompt", page_size, self._tell("prompts")))
        self._completions = Completions(self._prompts, self._resources)
        handlers = self._table(Lifecycle(self.info, instructions, self.capabilities))
        # The way from the protocol to the features.
        self.dispatch = Dispatch(handlers, middleware, self.lifespan)

    # Registration

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Let models call a function. Bare, or with keywords as in `add_tool`."""
        check_options("tool", function, options, self.add_tool)

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
        input_schema: dict[str, Json] | None = None,
        output_schema: dict[str, Json] | None = None,
        strict: bool = False,
        timeout: float | None = None,
        limit: int | None = None,
        cache: float = 0,
        thread: bool = True,
        replace: bool = False,
    ) -> None:
        """Register a tool.

        Args:
            description: what the model reads; by default the docstring, without its sections.
            read_only, destructive, idempotent, open_world: hints for clients; unset is not false.
            category, tags: for clients that sort their tools; sent in `_meta`.
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
        check_cache(cache)
        if not callable(function):
            raise TypeError(f"add_tool takes a function, not {function!r}")
        details = ToolDetails(
            title=title,
            description=description,
            annotations=hints(read_only, destructive, idempotent, open_world),
            icons=icons,
            meta=meta,
            category=category,
            tags=tags,
            input_schema=input_schema,
            output_schema=output_schema,
            strict=strict,
            cache=cache,
        )
        tool = Tool(
            function,
            details,
            name=name if name is not None else name_of(function),
            ready=self._ready(timeout, limit, thread=thread),
            limit=self.limits.result_bytes,
        )
        self._tools.registry.add(tool.name, tool, replace=replace)

    def remove_tool(self, name: str) -> None:
        """Take a tool away. Raises KeyError if there is none of this name."""
        self._tools.registry.remove(name)

    def resource(self, uri: str, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Let clients read what a function returns, under a URI or a template of URIs. Keywords
        are as in `add_resource`."""
        if not isinstance(uri, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError('@server.resource needs a URI, as in @server.resource("notes://all")')
        check_options("resource", None, options, self.add_resource)

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
    ) -> None:
        """Register a resource; a `{` in the URI makes it a template.

        Args:
            cache: for how many seconds a client may keep what it read; or a `Cache`.
            raw: give the variables as they were sent, with their percent escapes.
            timeout, limit, thread, replace: as in `add_tool`.

        Raises:
            TypeError: the function's parameters are not the variables of the template.
            ValueError: the URI is no template, or is taken.
        """
        resource = Resource(
            function,
            uri,
            name=name if name is not None else name_of(function),
            ready=self._ready(timeout, limit, thread=thread),
            title=title,
            description=description,
            mime_type=mime_type,
            size=size,
            icons=icons,
            annotations=annotations,
            meta=meta,
            cache=Cache(cache) if isinstance(cache, int | float) else cache,
            raw=raw,
        )
        registry = (
            self._resources.direct if resource.template is None else (self._resources.templates)
        )
        registry.add(key_of(uri), resource, replace=replace)

    def remove_resource(self, uri: str) -> None:
        """Take a resource or a template away. Raises KeyError if there is none of this URI."""
        direct, templates = self._resources.direct, self._resources.templates
        key = key_of(uri)
        (templates if templates.get(key) is not None else direct).remove(key)

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(self, /, **options: Unpack[PromptOptions]) -> Callable[[F], F]: ...
    def prompt(self, function: Any = None, /, **options: Any) -> Any:
        """Let users pick messages that a function writes. Bare, or with keywords."""
        check_options("prompt", function, options, self.add_prompt)

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
    ) -> None:
        """Register a prompt. Keywords are as in `add_tool`, and it raises what that raises."""
        prompt = Prompt(
            function,
            name=name if name is not None else name_of(function),
            ready=self._ready(timeout, limit, thread=thread),
            title=title,
            description=description,
            icons=icons,
            meta=meta,
        )
        self._prompts.registry.add(prompt.name, prompt, replace=replace)

    def remove_prompt(self, name: str) -> None:
        """Take a prompt away. Raises KeyError if there is none of this name."""
        self._prompts.registry.remove(name)

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
        tools, resources, prompts = self._tools.registry, self._resources, self._prompts.registry
        changes = ListChanged(list_changed=True)
        return ServerCapabilities(
            tools=changes if tools else UNSET,
            resources=ResourcesCapability(subscribe=True, list_changed=True)
            if resources
            else UNSET,
            prompts=changes if prompts else UNSET,
            completions={} if self._completions else UNSET,
            logging={} if tools or resources or prompts else UNSET,
        )

    def mask(self, what: str, error: BaseException) -> str:
        """What a client is told of an unexpected error; the log has the rest under the same id."""
        from logging import getLogger  # noqa: PLC0415

        mark = os.urandom(4).hex()
        log = getLogger(__name__)
        kind = getattr(error, "for_client", None)
        if kind is not None:  # a mistake of which the traceback says nothing
            log.error("%s failed (error %s): %s", what, mark, error)
        else:
            log.error("%s failed (error %s)", what, mark, exc_info=error)
            kind = type(error).__name__
        if self._show_errors:
            return f"{what} failed: {kind}: {text_of(error)}"
        return f"{what} failed: {kind} (error {mark})"

    def _ready(
        self, timeout: float | None, limit: int | None, *, thread: bool
    ) -> Callable[[Signature], Callee]:
        """What makes a function of ours callable, within the bounds its author has set."""
        check_bounds(timeout, limit)
        gate = None if limit is None else _gate(limit)
        return lambda signature: Callee(
            signature, self._context, inline=not thread, timeout=timeout, gate=gate
        )

    def _context(self, exchange: Exchange) -> Context:
        return Context(exchange, self, None if self.lifespan is None else self.lifespan.value)

    def _table(self, lifecycle: Lifecycle) -> dict[str, Handler]:
        tools, resources, prompts = self._tools, self._resources, self._prompts
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
            "completion/complete": self._completions.complete,
            "subscriptions/listen": self.changes.listen,
        }

    def _followed(self) -> frozenset[str]:
        parts = {
            "tools": self._tools.registry,
            "resources": self._resources,
            "prompts": self._prompts.registry,
        }
        return frozenset(name for name, part in parts.items() if part)

    def _tell(self, kind: ListKind) -> Callable[[], None]:
        return lambda: self.changes.publish(ListChange(kind))


def _lifespan(opener: Callable[[], AbstractAsyncContextManager[Any]]) -> LifespanState:
    from .runtime.lifespan import Lifespan  # noqa: PLC0415

    return Lifespan(opener)


def _gate(size: int) -> Gate:
    from .runtime.gate import Gate  # noqa: PLC0415

    return Gate(size)


def _given(text: str | None) -> Any:
    return UNSET if text is None else text


def _caller() -> dict[str, Any]:
    """The globals of the module that makes a `Server`."""
    return sys._getframe(2).f_globals  # pyright: ignore[reportPrivateUsage]
