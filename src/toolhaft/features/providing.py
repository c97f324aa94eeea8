"""Any object as a part of a server: its lists, which are evaluated with each request, and its
handlers, which decide for themselves."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from typing import Any, Generic, Protocol, TypeVar, cast

from ..errors import shown
from ..protocol.calls import Exchange
from .calling import Callee
from .context import MakeContext
from .custom import Custom, Hook
from .infos import PromptInfo, ResourceInfo, ToolInfo
from .joining import Prefix
from .prompts import Prompt
from .resources import Resource, key_of
from .signature import Signature
from .tools import Mask, Tool

T = TypeVar("T")
E = TypeVar("E", bound=ToolInfo | PromptInfo | ResourceInfo)

# What is kept ready of a list: so many entries, made again only if they differ.
_KEPT = 10_000


class ToolProvider(Protocol):
    """An object that lists its tools and answers their calls. Every method may be `async`."""

    @abstractmethod
    def tools(
        self, *args: Any, **kwargs: Any
    ) -> Iterable[ToolInfo] | Awaitable[Iterable[ToolInfo]]:
        """`tools()`, or `tools(ctx)` if it depends on who asks: the tools there are now."""
        ...

    @abstractmethod
    def call_tool(self, *args: Any, **kwargs: Any) -> Any:
        """`call_tool(name, arguments, ctx)`: what a tool may return, or `NotImplemented`."""
        ...


class PromptProvider(Protocol):
    """An object that lists its prompts and writes them. Every method may be `async`."""

    @abstractmethod
    def prompts(
        self, *args: Any, **kwargs: Any
    ) -> Iterable[PromptInfo] | Awaitable[Iterable[PromptInfo]]:
        """`prompts()`, or `prompts(ctx)` if it depends on who asks: the prompts there are now."""
        ...

    @abstractmethod
    def get_prompt(self, *args: Any, **kwargs: Any) -> Any:
        """`get_prompt(name, arguments, ctx)`: what a prompt may return, or `NotImplemented`."""
        ...


class ResourceProvider(Protocol):
    """An object that lists its resources and reads them. Every method may be `async`."""

    @abstractmethod
    def resources(
        self, *args: Any, **kwargs: Any
    ) -> Iterable[ResourceInfo] | Awaitable[Iterable[ResourceInfo]]:
        """`resources()`, or `resources(ctx)` if it depends on who asks: those there are now."""
        ...

    def templates(
        self, *args: Any, **kwargs: Any
    ) -> Iterable[ResourceInfo] | Awaitable[Iterable[ResourceInfo]]:
        """`templates()`, or `templates(ctx)`: the templates of what is not listed one by one."""
        return ()

    @abstractmethod
    def read_resource(self, *args: Any, **kwargs: Any) -> Any:
        """`read_resource(uri, ctx)`: what a resource may return, or `NotImplemented`."""
        ...


# Each list with the handler that answers for it.
HANDLERS: Mapping[str, str] = {
    "tools": "call_tool",
    "prompts": "get_prompt",
    "resources": "read_resource",
    "templates": "read_resource",
}
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("tools", "prompts", "resources", "templates"), ()),
    "call_tool": ("name", "arguments"),
    "get_prompt": ("name", "arguments"),
    "read_resource": ("uri",),
}


def hooks_of(
    provider: object, marked: Set[str], *, context: MakeContext, inline: bool
) -> dict[str, Hook]:
    """The methods of an object by which it provides.

    Args:
        marked: methods that are what their mark says, whatever they are called.

    Raises:
        TypeError: one of them does not take what it is given.
    """
    found: dict[str, Hook] = {}
    for name, parameters in _PARAMETERS.items():
        method = None if name in marked else getattr(provider, name, None)
        if method is None or getattr(method, "__func__", None) is ResourceProvider.templates:
            continue
        what = f"{_called(provider)}.{name}"
        if not callable(method):
            raise TypeError(f"{what} must be a method, as in def {name}(self, …), not {method!r}")
        found[name] = Hook(method, what, parameters, context=context, inline=inline)
    return found


def _called(provider: object) -> str:
    return getattr(provider, "__name__", type(provider).__name__)


class Listed(Generic[E, T]):
    """A list of a provider as a source of things that can be called."""

    def __init__(self, hook: Hook, kind: type[E], make: Callable[[E], tuple[str, T]]) -> None:
        self._hook = hook
        self._kind = kind
        self._make = make
        self._made: dict[str, tuple[E, str, T]] = {}

    @property
    def active(self) -> bool:
        """It is asked as long as it is there."""
        return True

    @property
    def private(self) -> bool:
        """A list that looks at who asks may be another one for somebody else."""
        return self._hook.contextual

    async def list(self, exchange: Exchange) -> dict[str, T]:
        """What the object lists now."""
        listed: Any = await self._hook(exchange)
        if isinstance(listed, str | bytes | Mapping) or not isinstance(listed, Iterable):
            kind = self._kind.__name__
            got = type(cast(object, listed)).__name__
            raise TypeError(f"{self._hook.what} must return a list of {kind}(…), not {got}")
        found: dict[str, T] = {}
        for entry in cast(Iterable[object], listed):
            name, item = self._ready(entry)
            if name in found:
                raise ValueError(f"{self._hook.what} lists {shown(name)} twice")
            found[name] = item
        return found

    async def find(self, exchange: Exchange, name: str) -> T | None:
        """The thing of this name, if the object lists it now."""
        return (await self.list(exchange)).get(name)

    def _ready(self, entry: object) -> tuple[str, T]:
        """The thing that an entry describes. Most lists are the same the next time."""
        if not isinstance(entry, self._kind):
            kind, got = self._kind.__name__, type(entry).__name__
            raise TypeError(f"{self._hook.what} must return a list of {kind}(…); one item is {got}")
        key = entry.uri if isinstance(entry, ResourceInfo) else entry.name
        made = self._made.get(key)
        if made is None or made[0] != entry:
            if len(self._made) >= _KEPT:
                self._made.clear()
            made = self._made[key] = (entry, *self._make(entry))
        return made[1:]


class Making:
    """Makes what entries describe.

    Args:
        limit: how many bytes a result of a tool may have.
        mask: what clients are told of errors of tools.
    """

    def __init__(
        self, ready: Callable[[Signature], Callee], prefix: Prefix, *, limit: int, mask: Mask
    ) -> None:
        self._ready = ready
        self._prefix = prefix
        self._limit = limit
        self._mask = mask

    def tools(self, hook: Hook, handler: Hook) -> Listed[ToolInfo, Tool]:
        """The tools of an object."""

        def make(info: ToolInfo) -> tuple[str, Tool]:
            tool = Tool(
                _anything,
                info.details(),
                name=self._prefix.name(info.name),
                ready=self._ready,
                limit=self._limit,
                custom=Custom(handler, info.name, is_whole=False),
                mask=self._mask,
            )
            return tool.name, tool

        return Listed(hook, ToolInfo, make)

    def prompts(self, hook: Hook, handler: Hook) -> Listed[PromptInfo, Prompt]:
        """The prompts of an object."""

        def make(info: PromptInfo) -> tuple[str, Prompt]:
            prompt = Prompt(
                _nothing,
                name=self._prefix.name(info.name),
                ready=self._ready,
                title=info.title,
                description=info.description,
                icons=info.icons,
                meta=info.meta,
                args=info.args,
                custom=Custom(handler, info.name, is_whole=False),
            )
            return prompt.name, prompt

        return Listed(hook, PromptInfo, make)

    def resources(self, hook: Hook, handler: Hook) -> Listed[ResourceInfo, Resource]:
        """The resources of an object."""

        def make(info: ResourceInfo) -> tuple[str, Resource]:
            resource = self._resource(info, handler)
            if resource.template is not None:
                uri = shown(info.uri)
                raise ValueError(f"{hook.what} lists {uri}, a template; list it in templates()")
            return key_of(resource.uri), resource

        return Listed(hook, ResourceInfo, make)

    def templates(self, hook: Hook, handler: Hook) -> Listed[ResourceInfo, Resource]:
        """The templates of an object."""

        def make(info: ResourceInfo) -> tuple[str, Resource]:
            resource = self._resource(info, handler)
            if resource.template is None:
                uri = shown(info.uri)
                raise ValueError(f"{hook.what} lists {uri}, no template; list it in resources()")
            return key_of(resource.uri), resource

        return Listed(hook, ResourceInfo, make)

    def _resource(self, info: ResourceInfo, handler: Hook) -> Resource:
        return Resource(
            _nothing,
            self._prefix.uri(info.uri),
            name=info.uri if info.name is None else info.name,
            ready=self._ready,
            title=info.title,
            description=info.description,
            mime_type=info.mime_type,
            size=info.size,
            icons=info.icons,
            annotations=info.annotations,
            meta=info.meta,
            custom=Custom(handler, is_whole=False),
            is_whole=False,
            unknown=self._prefix.length,
        )


# These stand where there is no function, for a handler answers. Without a docstring, which would
# be shown to clients.


def _anything(**arguments: Any) -> None: ...


def _nothing() -> None: ...
