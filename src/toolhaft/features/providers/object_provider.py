"""Object providers: their lists are evaluated for each request, and their handlers answer calls."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Generic, Protocol, TypeVar, cast
from weakref import WeakValueDictionary

from ...errors import shown
from ...protocol.calls import Exchange
from ...protocol.ports import Gate
from ..author_checks import check_cache
from ..functions.invocation import Callee
from ..functions.markers import MakeContext
from ..functions.signature import Signature
from ..prompts import Prompt
from ..resources import Resource, key_of
from ..tools import Mask, Tool
from .entries import PromptInfo, ResourceInfo, ToolInfo
from .handlers import CustomHandler, Hook
from .prefix import Prefix

T = TypeVar("T")
E = TypeVar("E", bound=ToolInfo | PromptInfo | ResourceInfo)

# Items cached per list, and distinct errors logged per list.
_KEPT = 10_000


class ToolProvider(Protocol):
    """An object that lists its tools and answers their calls. Every method may be `async`."""

    @abstractmethod
    def tools(
        self, *args: Any, **kwargs: Any
    ) -> Iterable[ToolInfo] | Awaitable[Iterable[ToolInfo]]:
        """`tools()`, or `tools(ctx)` if it depends on the caller: the current tools."""
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
        """`prompts()`, or `prompts(ctx)` if it depends on the caller: the current prompts."""
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
        """`resources()`, or `resources(ctx)` if it depends on the caller: the current ones."""
        ...

    def templates(
        self, *args: Any, **kwargs: Any
    ) -> Iterable[ResourceInfo] | Awaitable[Iterable[ResourceInfo]]:
        """`templates()`, or `templates(ctx)`: templates of resources that are not listed."""
        return ()

    @abstractmethod
    def read_resource(self, *args: Any, **kwargs: Any) -> Any:
        """`read_resource(uri, ctx)`: what a resource may return, or `NotImplemented`."""
        ...


# List method to the handler of its items.
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
    """Find the list methods and handlers of a provider.

    Args:
        marked: names of decorated methods, which are no list methods or handlers.

    Raises:
        TypeError: a method has the wrong parameters.
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


class ProviderList(Generic[E, T]):
    """A list method of a provider as a source of a registry.

    Args:
        joined: maps the key of an entry to its name in the registry.
        make: makes the item of an entry.
    """

    def __init__(
        self, hook: Hook, kind: type[E], joined: Callable[[str], str], make: Callable[[E], T]
    ) -> None:
        self._hook = hook
        self._kind = kind
        self._joined = joined
        self._make = make
        self._made: dict[str, tuple[E, T]] = {}
        # Errors that were logged.
        self._left_out: set[str] = set()

    @property
    def active(self) -> bool:
        """Always True: the list may have entries at any time."""
        return True

    @property
    def private(self) -> bool:
        """Whether the list may differ between callers: the method takes a context."""
        return self._hook.contextual

    async def list(self, exchange: Exchange) -> dict[str, T]:
        """Return the current items by name. An invalid entry is left out and logged, so that the
        others can be used."""
        found: dict[str, T] = {}
        for entry in await self._entries(exchange):
            name = self._joined(entry.key)
            if name in found:
                self._leave_out(f"{shown(name)} is there twice")
                continue
            try:
                found[name] = self._ready(entry)
            except (TypeError, ValueError) as error:
                self._leave_out(f"the entry {entry.key!r}: {error}")
        return found

    def _leave_out(self, why: str) -> None:
        """Log an invalid entry, once per reason."""
        if why not in self._left_out and len(self._left_out) < _KEPT:
            from logging import getLogger  # noqa: PLC0415

            self._left_out.add(why)
            log = getLogger(__name__)
            log.error("%s: an entry was left out of the list: %s", self._hook.what, why)

    async def find(self, exchange: Exchange, name: str) -> T | None:
        """Return the item of this name, if it is in the current list."""
        for entry in await self._entries(exchange):
            if self._joined(entry.key) == name:
                return self._ready(entry)
        return None

    async def _entries(self, exchange: Exchange) -> Sequence[E]:
        listed: Any = await self._hook(exchange)
        what, kind = self._hook.what, self._kind.__name__
        if isinstance(listed, str | bytes | Mapping) or not isinstance(listed, Iterable):
            got = type(cast(object, listed)).__name__
            raise TypeError(f"{what} must return a list of {kind}(…), not {got}")
        entries: list[E] = []
        for entry in cast(Iterable[E], listed):
            if isinstance(entry, self._kind):  # pyright: ignore[reportUnnecessaryIsInstance]
                entries.append(entry)
            else:
                got = type(cast(object, entry)).__name__
                self._leave_out(f"each of them must be {kind}(…), and this one is {got}")
        return entries

    def _ready(self, entry: E) -> T:
        """Return the item of an entry, from the cache if the entry is equal to the last one."""
        made = self._made.get(entry.key)
        if made is None or (made[0] is not entry and made[0] != entry):
            if len(self._made) >= _KEPT:
                self._made.clear()
            try:
                made = self._made[entry.key] = (entry, self._make(entry))
            except (TypeError, ValueError) as error:
                error.add_note(f"This is about the entry {entry.key!r} of {self._hook.what}.")
                raise
        return made[1]


class MakeCallee(Protocol):
    """Returns a function that makes the `Callee` of a signature, with these limits."""

    def __call__(
        self, *, timeout: float | None, limit: int | None, gate: Callable[[int], Gate]
    ) -> Callable[[Signature], Callee]: ...


class EntryFactory:
    """Makes the sources of a provider's lists, and the items of their entries.

    Args:
        gate: makes a concurrency limit of so many calls.
        limit: maximum size of a tool result in bytes.
        mask: maps an error of a tool to the message for the client.
    """

    def __init__(
        self,
        ready: MakeCallee,
        prefix: Prefix,
        *,
        gate: Callable[[int], Gate],
        limit: int,
        mask: Mask,
    ) -> None:
        self._ready = ready
        self._prefix = prefix
        self._make_gate = gate
        self._limit = limit
        self._mask = mask
        # Kept across changes of an entry, so that its calls still share one limit.
        self._gates: WeakValueDictionary[tuple[type, str, int], Gate] = WeakValueDictionary()

    def tools(self, hook: Hook, handler: Hook) -> ProviderList[ToolInfo, Tool]:
        """Make the source of tools."""

        def make(info: ToolInfo) -> Tool:
            check_cache(info.cache)
            return Tool(
                _anything,
                info.details(),
                name=self._prefix.name(info.name),
                ready=self._bounded(info),
                limit=self._limit,
                custom=CustomHandler(handler, info.name, has_method=False),
                mask=self._mask,
            )

        return ProviderList(hook, ToolInfo, self._prefix.name, make)

    def prompts(self, hook: Hook, handler: Hook) -> ProviderList[PromptInfo, Prompt]:
        """Make the source of prompts."""

        def make(info: PromptInfo) -> Prompt:
            return Prompt(
                _nothing,
                name=self._prefix.name(info.name),
                ready=self._bounded(info),
                title=info.title,
                description=info.description,
                icons=info.icons,
                meta=info.meta,
                args=info.args,
                custom=CustomHandler(handler, info.name, has_method=False),
            )

        return ProviderList(hook, PromptInfo, self._prefix.name, make)

    def resources(self, hook: Hook, handler: Hook) -> ProviderList[ResourceInfo, Resource]:
        """Make the source of resources."""

        def make(info: ResourceInfo) -> Resource:
            resource = self._resource(info, handler)
            if resource.template is not None:
                uri = shown(info.uri)
                raise ValueError(f"{hook.what} lists {uri}, a template; list it in templates()")
            return resource

        return ProviderList(hook, ResourceInfo, self._uri, make)

    def templates(self, hook: Hook, handler: Hook) -> ProviderList[ResourceInfo, Resource]:
        """Make the source of resource templates."""

        def make(info: ResourceInfo) -> Resource:
            resource = self._resource(info, handler)
            if resource.template is None:
                uri = shown(info.uri)
                raise ValueError(f"{hook.what} lists {uri}, no template; list it in resources()")
            return resource

        return ProviderList(hook, ResourceInfo, self._uri, make)

    def _uri(self, uri: str) -> str:
        return key_of(self._prefix.uri(uri))

    def _resource(self, info: ResourceInfo, handler: Hook) -> Resource:
        return Resource(
            _nothing,
            self._prefix.uri(info.uri),
            name=info.uri if info.name is None else info.name,
            ready=self._bounded(info),
            title=info.title,
            description=info.description,
            mime_type=info.mime_type,
            size=info.size,
            icons=info.icons,
            annotations=info.annotations,
            meta=info.meta,
            cache=info.cache,
            custom=CustomHandler(handler, has_method=False),
            has_method=False,
            unknown=self._prefix.length,
            complete=info.complete,
        )

    def _bounded(self, info: ToolInfo | PromptInfo | ResourceInfo) -> Callable[[Signature], Callee]:
        def gate(size: int) -> Gate:
            key = (type(info), info.key, size)
            found = self._gates.get(key)
            if found is None:
                found = self._gates[key] = self._make_gate(size)
            return found

        return self._ready(timeout=info.timeout, limit=info.limit, gate=gate)


# Placeholders for the function of an item that a handler answers. Without a docstring, which would
# be published.


def _anything(**arguments: Any) -> None: ...


def _nothing() -> None: ...
