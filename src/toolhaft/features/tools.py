"""`tools/list` and `tools/call`."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from inspect import Parameter, iscoroutinefunction
from types import FunctionType, MethodType
from typing import Any, Literal, NoReturn, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, Struct

from ..errors import InvalidParams, McpError, ToolError, shown
from ..lazy_regex import pattern
from ..protocol.calls import Awaiting, Blocking, Exchange, Outcome, Result, Subject
from ..protocol.handshake import has_data
from ..protocol.revisions import Revision
from ..schema.from_types import Schema
from ..types.content import TextContent
from ..types.tools import CallToolResult, ListToolsResult, ToolAnnotations
from ..types.tools import Tool as ToolDescription
from ..types.wire import Icon, Meta
from .author_checks import check_described
from .functions.described_arguments import Arg, arguments_schema
from .functions.invocation import Callee
from .functions.mirrored_headers import mirrored
from .functions.signature import BadArguments, LargeArguments, Signature
from .lazy_validation import Explicit, check_schema
from .providers.handlers import CustomHandler, DecoratedMethod, Recipe, Route
from .providers.prefix import twin
from .providers.registry import Registry, require
from .results.rendering import Output
from .type_checks import expect

# "Tool names SHOULD be between 1 and 128 characters" of these; some clients refuse others.
_NAME = pattern(r"[A-Za-z0-9_.-]{1,128}")

ErrorSetting: TypeAlias = Literal["mask", "show"]


class Mask(Protocol):
    """What a client is told of an unexpected error.

    `show` is for a tool that has a setting of its own: does the client get the text?"""

    def __call__(self, what: str, error: BaseException, /, *, show: bool | None = None) -> str: ...


class ToolDetails(Struct, frozen=True, kw_only=True):
    """What an author may say of a tool beyond its function."""

    title: str | None = None
    description: str | None = None
    annotations: ToolAnnotations | None = None
    icons: Sequence[Icon] = ()
    meta: Meta | None = None
    category: str | None = None
    tags: Sequence[str] = ()
    input_schema: Schema | None = None
    # The same, told one by one.
    args: Sequence[Arg] | None = None
    output_schema: Schema | None = None
    strict: bool = False
    # What clients are told of unexpected errors, if not what the server says.
    errors: ErrorSetting | None = None
    # Is a call of a client without a session refused?
    needs_session: bool = False
    # For how many seconds a client may rely on this description.
    cache: float = 0


class Tool:
    """A function that a model may call."""

    __slots__ = (
        "cache", "callee", "contextual", "custom", "description", "is_async", "is_coroutine",
        "is_simple", "is_special", "mask", "mirrors", "needs_session", "output", "promised",
        "recipe", "route", "signature", "subject",
    )  # fmt: skip

    def __init__(
        self,
        function: Callable[..., Any],
        details: ToolDetails,
        *,
        name: str,
        ready: Callable[[Signature], Callee],
        limit: int,
        custom: CustomHandler | None = None,
        mask: Mask | None = None,
    ) -> None:
        what = f"tool {name!r}"
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{what}: a name is a str that is not empty")
        vet_name(name, stacklevel=8)
        check_described(
            what,
            title=details.title,
            description=details.description,
            category=details.category,
            icons=details.icons,
            tags=details.tags,
            meta=details.meta,
        )
        schema = _input_schema(details, what)
        given = None if schema is None else Explicit(schema, f"{what}: input_schema")
        option = "input_schema" if details.args is None else "args"
        signature = Signature(function, what, explicit=given, option=option, strict=details.strict)
        extra = signature.is_marked or any(each.extra for each in signature.parameters)
        if extra:
            check_schema(signature.schema, what)
        # Arguments that headers repeat, where there are any.
        checked = extra or given is not None
        self.mirrors = tuple(mirrored(signature.schema)) if checked else ()
        self.signature = signature
        self.callee = ready(signature)
        # How it was made, for whoever makes it anew.
        self.recipe: Recipe | None = None
        # Is asked first, before the function.
        self.custom = custom
        # What a client is told of its errors, if its server says so and not the one that offers it.
        self.mask = _own_mask(mask, details.errors, what)
        # The way of a call that has to go through another server.
        self.route: Route | None = None
        expect(what, "needs_session", details.needs_session, bool)
        self.needs_session = details.needs_session
        self.is_special = bool(self.mirrors) or self.needs_session
        self.subject = Subject(name)
        # For the way that most calls take, which is short.
        self.is_simple = self.callee.is_simple and custom is None
        self.is_async = signature.call_style == "async"
        # Calling it runs nothing yet, so it need not be called inside of the call's own task.
        self.is_coroutine = (
            self.is_async
            and isinstance(signature.function, FunctionType | MethodType)
            and iscoroutinefunction(signature.function)
        )
        self.contextual = bool(signature.contexts or signature.headers)
        output = None
        if details.output_schema is not None:
            output = Explicit(details.output_schema, f"{what}: output_schema", root_object=False)
        # What its function returns is held to the annotation.
        self.output = Output(signature.returns, name, explicit=output, limit=limit)
        # What clients are promised. A handler in front of the function may answer with something
        # else, so then the annotation is no promise; a schema given by hand is one for both.
        self.promised = self.output
        if custom is not None and output is None:
            self.promised = Output(Parameter.empty, name, limit=limit)
        self.cache = details.cache
        description = details.description
        if description is None:
            description = signature.documentation.description
        meta = _meta(details)
        self.description = ToolDescription(
            name=name,
            title=UNSET if details.title is None else details.title,
            description=UNSET if description is None else description,
            annotations=UNSET if details.annotations is None else details.annotations,
            icons=list(details.icons) or UNSET,
            meta=meta or UNSET,
        )

    @property
    def name(self) -> str:
        return self.description.name

    def under(self, name: str, route: Route | None) -> "Tool":
        """The same tool as another server offers it."""
        other = twin(self)
        other.description = msgspec.structs.replace(self.description, name=name)
        other.route, other.recipe = route, None
        other.subject = Subject(name, self.subject)
        other.is_special = self.is_special or route is not None
        return other

    def describe(self, revision: Revision) -> ToolDescription:
        """The entry in the list; its schemas are made here, when somebody wants to see them."""
        output, known = self.promised.schema_for(revision), self.description
        annotations = known.annotations
        if known.title is not UNSET and "title" in revision.unknown_fields.get(ToolDescription, ()):
            # A revision without titles has a place for them among the hints.
            hints = annotations if annotations is not UNSET else ToolAnnotations()
            annotations = msgspec.structs.replace(hints, title=known.title)
        return msgspec.structs.replace(
            known,
            annotations=annotations,
            input_schema=self.signature.schema,
            output_schema=UNSET if output is None else output,
        )


def _input_schema(details: ToolDetails, what: str) -> Schema | None:
    if details.args is None:
        return details.input_schema
    if details.input_schema is not None:
        raise TypeError(f"{what}: args and input_schema say the same; give one of them")
    return arguments_schema(details.args, what)


def _own_mask(mask: Mask | None, errors: object, what: str) -> "Mask | None":
    if errors not in (None, "mask", "show"):
        raise ValueError(f'{what}: errors must be "mask" or "show", not {errors!r}')
    return mask if mask is None or errors is None else partial(mask, show=errors == "show")


def vet_name(name: str, *, stacklevel: int = 4) -> None:
    """Warn of a name that clients may refuse."""
    if not _NAME.fullmatch(name):
        warnings.warn(
            f"tool {name!r}: clients may refuse this name; the specification asks for 1 to 128 "
            "letters, digits, '_', '-' and '.'",
            stacklevel=stacklevel,
        )


def _meta(details: ToolDetails) -> Meta:
    """What there is no place for in the protocol goes to `_meta`, under a name of ours."""
    meta: Meta = dict(details.meta or {})
    if details.category is not None:
        meta["toolhaft/category"] = details.category
    if details.tags:
        meta["toolhaft/tags"] = list(details.tags)
    if details.needs_session:
        meta["toolhaft/needsSession"] = True
    return meta


class Tools:
    """The tools of a server."""

    def __init__(self, registry: Registry[Tool], *, mask: Mask) -> None:
        self.registry = registry
        self._mask = mask

    def list(self, exchange: Exchange) -> Outcome:
        """Answer `tools/list`."""
        return self.registry.page(exchange, self._page)

    def _page(self, tools: Sequence[Tool], revision: Revision) -> ListToolsResult:
        # Asked for here, where a page is made, so that a page that is kept costs nothing.
        require(self.registry, "tools")
        return ListToolsResult(
            tools=[tool.describe(revision) for tool in tools],
            ttl_ms=int(1000 * min((tool.cache for tool in tools), default=0)),
            cache_scope="public",
        )

    def call(
        self,
        exchange: Exchange,
        tool: Tool | None = None,
        arguments: dict[str, Any] | None = None,
    ) -> Outcome:
        """Answer `tools/call`: arguments that do not fit are an answer the model can act on.

        Args:
            tool: if it is known already which one is meant.
            arguments: if they have been read already.
        """
        params = exchange.params
        if tool is None:
            slot = self.registry.seen.get(params.name)
            if slot is None:
                return self._elsewhere(exchange)
            tool = slot.item
        exchange.subject = tool.subject
        if tool.is_special:
            special = _special(exchange, tool)
            if special is not None:
                return special
        if arguments is None:
            try:
                arguments = tool.signature.bind(params.arguments)
            except Exception as error:
                return self._unbound(exchange, tool, error)
        if not tool.is_simple or exchange.place is not None:
            return self._elaborate(exchange, tool, arguments)
        if tool.contextual:
            tool.callee.inject(exchange, arguments)
        if tool.is_coroutine:
            return Awaiting(tool.signature.function(**arguments), self, tool)
        return self._started(exchange, tool, arguments)

    def _started(self, exchange: Exchange, tool: Tool, arguments: dict[str, Any]) -> Outcome:
        """The outcome of a function that is no plain `async def`."""
        if tool.is_async:
            return self._await(exchange, tool, arguments)
        return Blocking(partial(self._run, exchange, tool, arguments), tool.callee.inline)

    async def _call_large(self, exchange: Exchange, tool: Tool) -> Result:
        """The same for arguments that may take long to read: a worker thread reads them."""
        bind = partial(tool.signature.bind_large, exchange.params.arguments)
        try:
            arguments = await exchange.apart(bind)
        except Exception as error:
            return await exchange.settle(self._unbound(exchange, tool, error))
        return await exchange.settle(self.call(exchange, tool, arguments))

    def _unbound(self, exchange: Exchange, tool: Tool, error: Exception) -> Outcome:
        """What becomes of a call whose arguments could not be read."""
        if isinstance(error, LargeArguments):
            return self._call_large(exchange, tool)
        if isinstance(error, BadArguments):
            return _failed("\n".join([f"invalid arguments for {tool.name}:", *error.problems]))
        # Of the author's: a default, or a class that checks itself.
        return self.explain(exchange, tool, error)

    def _elsewhere(self, exchange: Exchange) -> Outcome:
        """A tool that is not registered may be one that a source has."""
        require(self.registry, "tools")
        if self.registry.sources:
            return self._sought(exchange)
        return self._unknown(exchange)

    async def _sought(self, exchange: Exchange) -> Result:
        tool = await self.registry.find(exchange, exchange.params.name)
        if tool is None:
            self._unknown(exchange)
        return await exchange.settle(self.call(exchange, tool))

    def _unknown(self, exchange: Exchange) -> NoReturn:
        known = self.registry.some_names()
        there = f"; there are {known}" if known else ""
        raise InvalidParams(f"unknown tool: {shown(exchange.params.name)}{there}")

    def _elaborate(self, exchange: Exchange, tool: Tool, arguments: dict[str, Any]) -> Outcome:
        finish = partial(tool.output.render, revision=exchange.caller.revision)
        failed = partial(self.explain, exchange, tool)
        if tool.custom is None:
            return tool.callee.outcome(exchange, arguments, finish, failed)
        given = tool.signature.read(exchange.params.arguments)
        own = DecoratedMethod(tool.callee, arguments, finish)
        promised = partial(tool.promised.render, revision=exchange.caller.revision)
        return tool.custom.outcome(exchange, (given,), own, promised, failed)

    # These are `Callee.outcome`, written out: tools are called a hundred times as often as anything
    # else, and this way costs no closure.

    def finish(self, exchange: Exchange, tool: Tool, value: Any) -> Result:
        """What a call is answered with whose function returned a value."""
        return tool.output.render(value, exchange.caller.revision)

    async def _await(self, exchange: Exchange, tool: Tool, arguments: dict[str, Any]) -> Result:
        try:
            value = await tool.signature.function(**arguments)
            return tool.output.render(value, exchange.caller.revision)
        except BaseException as error:
            return self.explain(exchange, tool, error)

    def _run(self, exchange: Exchange, tool: Tool, arguments: dict[str, Any]) -> Result:
        try:
            value = tool.signature.function(**arguments)
            return tool.output.render(value, exchange.caller.revision)
        except BaseException as error:
            return self.explain(exchange, tool, error)

    def explain(self, exchange: Exchange, tool: Tool, error: BaseException) -> Result:
        """What a call that raised is answered with. A `CancelledError` is nothing special: either
        the client cancelled the call, or the tool awaited what somebody else cancelled."""
        if isinstance(error, ToolError):
            return _failed(error.message)
        if isinstance(error, McpError) or exchange.cancelled or exchange.suspended:
            try:
                raise error
            finally:
                del error  # as in `unchanged`
        mask = self._mask if tool.mask is None else tool.mask
        return _failed(mask(f"tool {tool.name!r}", error))


def _special(exchange: Exchange, tool: Tool) -> Outcome | None:
    """What becomes of a call of a special tool; None: it is called like any other."""
    _check_mirrors(exchange, tool)
    if tool.needs_session and not has_data(exchange.era):
        return _failed(_without_session(exchange, tool))
    return None if tool.route is None else tool.route(exchange)


def _without_session(exchange: Exchange, tool: Tool) -> str:
    revision = exchange.caller.revision
    why = f"clients of {revision.date} have none"
    if revision.handshake:
        why = "this request belongs to none: send the Mcp-Session-Id that `initialize` was given"
    return f"{tool.name} needs a session, which begins with `initialize`, and {why}"


def _check_mirrors(exchange: Exchange, tool: Tool) -> None:
    if tool.mirrors and exchange.headers is not None and not exchange.caller.revision.handshake:
        from .functions.header_check import check_mirrors  # noqa: PLC0415

        check_mirrors(exchange.headers, exchange.params.arguments, tool.mirrors)


def _failed(text: str) -> CallToolResult:
    # What cannot be encoded must not turn a failed call into a broken one.
    return CallToolResult(
        content=[TextContent(text.encode("utf-8", "replace").decode())], is_error=True
    )


def hints(what: str, **given: bool | None) -> ToolAnnotations | None:
    """The hints that an author gave of something, if any."""
    check_described(what, **given)
    known: dict[str, Any] = {
        f"{name}_hint": hint for name, hint in given.items() if hint is not None
    }
    return ToolAnnotations(**known) if known else None
