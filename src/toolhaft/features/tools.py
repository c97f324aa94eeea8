"""`tools/list` and `tools/call`."""

import re
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET

from ..errors import InvalidParams, McpError, ToolError, shown
from ..protocol.calls import Blocking, Exchange, Outcome, Result
from ..protocol.revisions import Revision
from ..types.content import TextContent
from ..types.tools import CallToolResult, ListToolsResult, ToolAnnotations
from ..types.tools import Tool as ToolDescription
from ..types.wire import Icon, Meta
from .context import MakeContext
from .registry import Registry, require
from .signature import BadArguments, Signature
from .values import Output

# "Tool names SHOULD be between 1 and 128 characters" of these; some clients refuse others.
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")

Mask = Callable[[str, BaseException], str]


class Tool:
    """A function that a model may call."""

    __slots__ = ("_description", "inline", "output", "signature")

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        title: str | None = None,
        description: str | None = None,
        annotations: ToolAnnotations | None = None,
        icons: list[Icon] | None = None,
        meta: Meta | None = None,
        inline: bool = False,
    ) -> None:
        what = f"tool {name!r}"
        if not _NAME.fullmatch(name):
            warnings.warn(
                f"{what}: clients may refuse this name; use letters, digits, '_', '-' and '.', at "
                "most 128",
                stacklevel=4,
            )
        self.signature = Signature(function, what)
        self.output = Output(self.signature.returns, what)
        self.inline = inline
        self._description = ToolDescription(
            name=name,
            title=UNSET if title is None else title,
            description=UNSET if description is None else description,
            annotations=UNSET if annotations is None else annotations,
            icons=UNSET if icons is None else icons,
            meta=UNSET if meta is None else meta,
        )

    @property
    def name(self) -> str:
        return self._description.name

    def describe(self, revision: Revision) -> ToolDescription:
        """The entry in the list; its schemas are made here, when somebody wants to see them."""
        output = self.output.schema_for(revision)
        return msgspec.structs.replace(
            self._description,
            input_schema=self.signature.schema,
            output_schema=UNSET if output is None else output,
        )


class Tools:
    """The tools of a server."""

    def __init__(self, registry: Registry[Tool], *, context: MakeContext, mask: Mask) -> None:
        self.registry = registry
        self._context = context
        self._mask = mask

    def list(self, exchange: Exchange) -> Outcome:
        """Answer `tools/list`."""
        return self.registry.page(exchange, self._page)

    def _page(self, tools: Sequence[Tool], revision: Revision) -> ListToolsResult:
        # Asked for here, where a page is made, so that a page that is kept costs nothing.
        require(self.registry, "tools")
        return ListToolsResult(
            tools=[tool.describe(revision) for tool in tools], ttl_ms=0, cache_scope="public"
        )

    def call(self, exchange: Exchange) -> Outcome:
        """Answer `tools/call`: arguments that do not fit are an answer the model can act on."""
        params = exchange.params
        tool = self.registry.get(params.name)
        if tool is None:
            require(self.registry, "tools")
            known = self.registry.some_names()
            raise InvalidParams(f"unknown tool: {shown(params.name)}; there are {known}")
        signature = tool.signature
        try:
            arguments = signature.bind(params.arguments)
        except BadArguments as error:
            return _failed("\n".join([f"invalid arguments for {tool.name}:", *error.problems]))
        for name in signature.contexts:
            arguments[name] = self._context(exchange)
        if signature.is_async:
            return self._await(exchange, tool, arguments)
        return Blocking(partial(self._run, exchange, tool, arguments), tool.inline)

    # These two are `called` of calling.py, written out: tools are called a hundred times as often
    # as anything else, and this way costs no closure.

    async def _await(self, exchange: Exchange, tool: Tool, arguments: dict[str, Any]) -> Result:
        try:
            value = await tool.signature.function(**arguments)
            return tool.output.render(value, exchange.caller.revision)
        except BaseException as error:
            return self._explain(exchange, tool, error)

    def _run(self, exchange: Exchange, tool: Tool, arguments: dict[str, Any]) -> Result:
        try:
            value = tool.signature.function(**arguments)
            return tool.output.render(value, exchange.caller.revision)
        except BaseException as error:
            return self._explain(exchange, tool, error)

    def _explain(self, exchange: Exchange, tool: Tool, error: BaseException) -> Result:
        """What a call that raised is answered with. A `CancelledError` is nothing special: either
        the client cancelled the call, or the tool awaited what somebody else cancelled."""
        if isinstance(error, ToolError):
            return _failed(error.message)
        if isinstance(error, McpError) or exchange.cancelled:
            raise error
        return _failed(self._mask(f"tool {tool.name!r}", error))


def _failed(text: str) -> CallToolResult:
    # What cannot be encoded must not turn a failed call into a broken one.
    return CallToolResult(
        content=[TextContent(text.encode("utf-8", "replace").decode())], is_error=True
    )


def hints(
    read_only: bool | None,
    destructive: bool | None,
    idempotent: bool | None,
    open_world: bool | None,
) -> ToolAnnotations | None:
    """The hints that an author gave, if any."""
    given = {
        "read_only_hint": read_only,
        "destructive_hint": destructive,
        "idempotent_hint": idempotent,
        "open_world_hint": open_world,
    }
    known: dict[str, Any] = {name: hint for name, hint in given.items() if hint is not None}
    return ToolAnnotations(**known) if known else None
