"""What a server offers, and how it gets there: one by one, or several things together."""

import threading
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Any, TypeVar

from msgspec import UNSET, Struct

from ..features.author_checks import check_bounds, check_cache, name_of
from ..features.completion import Completions
from ..features.functions.invocation import Callee
from ..features.functions.markers import MakeContext
from ..features.functions.signature import Signature
from ..features.prompts import Prompt, Prompts
from ..features.providers.handlers import Custom, Hook
from ..features.providers.prefix import Prefix
from ..features.providers.registry import Registry
from ..features.resources import Resource, Resources, key_of
from ..features.subscriptions import Changes
from ..features.tools import Mask, Tool, ToolDetails, Tools, hints, vet_name
from ..features.type_checks import expect
from ..protocol.calls import Call
from ..protocol.limits import Limits
from ..protocol.ports import Gate, Place
from ..protocol.subscriptions import ListChange, ListKind
from ..schema.fresh_defaults import renewed
from ..types.lifecycle import ListChanged, ResourcesCapability, ServerCapabilities
from .handles import Handles, PromptHandle, ResourceHandle, ToolHandle
from .keywords import Kind, check_flags

T = TypeVar("T")
_HINTS = ("read_only", "destructive", "idempotent", "open_world")
# Options that are JSON, and are told as they are given.
_DATA = ("input_schema", "output_schema", "meta")
_BOUNDS = ("timeout", "limit", "thread", "run_on")
_FLAGS = ("thread", "replace", "shared", "strict", "needs_session", "raw")
# Which list a client follows to hear of changes in one of an object's.
_KINDS: Mapping[str, ListKind] = {
    "tools": "tools",
    "prompts": "prompts",
    "resources": "resources",
    "templates": "resources",
}


def _kept(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they are now: a schema or a `_meta` that is altered later, by a call or by its
    author, stays what was registered."""
    kept = dict(options)
    for name in _DATA:
        if name in kept:
            # What holds itself cannot be copied, and is refused by its name.
            with suppress(RecursionError):
                kept[name] = renewed(kept[name])
    return kept


class Addition(Struct, frozen=True):
    """Something that is to be registered, with others or not at all."""

    registry: Registry[Any]
    name: str
    item: Any
    replace: bool = False
    # Several may register it; it stays until all of them have removed it.
    shared: bool = False

    def check(self) -> None:
        """Can it be registered?

        Raises:
            ValueError: the name is taken.
        """
        if self.shared:
            self.registry.check_sharable(self.name, self._is_same)
        elif not self.replace:
            self.registry.check_free(self.name)

    def register(self) -> int:
        """Register it, and tell its tenure.

        Raises:
            ValueError: the name is taken.
        """
        if self.shared:
            return self.registry.share(self.name, self.item, self._is_same)
        return self.registry.add(self.name, self.item, replace=self.replace)

    def _is_same(self, other: Any) -> bool:
        return bool(self.item.signature.function == other.signature.function)


class Origin(Struct, frozen=True):
    """Where a thing is from: which prefix it has, who is asked before its function, and the URI of
    a resource."""

    prefix: Prefix = Prefix(None)
    handler: Hook | None = None
    uri: str = ""

    def custom(self, own: str | None) -> Custom | None:
        """What is asked first, by the name that it knows."""
        return None if self.handler is None else Custom(self.handler, own, is_whole=True)


_HERE = Origin()


class _Said(Struct, frozen=True):
    """What an author says of a thing: its function, the name it has for them, how it is called, and
    all other options."""

    function: Callable[..., Any]
    own: str
    ready: Callable[[Signature], Callee]
    options: dict[str, Any]
    origin: Origin


class Offers:
    """The tools, resources and prompts of a server."""

    def __init__(
        self, *, page_size: int | None, limits: Limits, mask: Mask, context: MakeContext
    ) -> None:
        self.limits = limits
        self.mask = mask
        self.context = context
        self.lock = threading.RLock()
        self.changes = Changes(self.followed)
        # Other servers that are offered here.
        self.included: list[Offers] = []

        def registry(what: str, kind: ListKind, **more: Any) -> Registry[Any]:
            return Registry(what, page_size, self._tell(kind), self.lock, **more)

        self.tools = Tools(registry("tool", "tools", vet=vet_name), mask=mask)
        self.resources = Resources(
            registry("resource", "resources"), registry("template", "resources")
        )
        self.prompts = Prompts(registry("prompt", "prompts"))
        self._makers: Mapping[Kind, Callable[[_Said], tuple[Registry[Any], str, Any]]] = {
            "tool": self._tool,
            "resource": self._resource,
            "prompt": self._prompt,
        }
        self.completions = Completions(self.prompts, self.resources)
        direct, templates = self.resources.direct, self.resources.templates
        self.tool_handles = Handles((self.tools.registry,), ToolHandle)
        self.resource_handles = Handles((direct, templates), ResourceHandle, key_of)
        self.prompt_handles = Handles((self.prompts.registry,), PromptHandle)

    # One by one

    def add_tool(self, function: Callable[..., Any], **options: Any) -> ToolHandle:
        """Register a tool; see `Server.add_tool`."""
        return self._add(self.made("tool", function, options), ToolHandle)

    def add_resource(
        self, function: Callable[..., Any], uri: str, **options: Any
    ) -> ResourceHandle:
        """Register a resource; see `Server.add_resource`."""
        expect(f"resource {uri!r}", "uri", uri, str)
        addition = self.made("resource", function, options, Origin(uri=uri))
        return self._add(addition, ResourceHandle)

    def add_prompt(self, function: Callable[..., Any], **options: Any) -> PromptHandle:
        """Register a prompt; see `Server.add_prompt`."""
        return self._add(self.made("prompt", function, options), PromptHandle)

    def _add(self, addition: Addition, handle: Callable[[Registry[Any], str, int], T]) -> T:
        with self.lock:
            return handle(addition.registry, addition.name, addition.register())

    def add_together(self, additions: list[Addition]) -> Callable[[], None]:
        """Register all of them, or none; what is returned takes them away again."""
        removals: list[Callable[[], None]] = []
        with self.lock:
            seen: set[tuple[int, str]] = set()
            for addition in additions:
                registry, name = addition.registry, addition.name
                addition.check()
                registry.check_followers(name)
                if (id(registry), name) in seen:
                    raise ValueError(f"{name!r} is marked twice; give one of them another name")
                seen.add((id(registry), name))
            for addition in additions:
                tenure = addition.register()
                removals.append(partial(addition.registry.discard, addition.name, tenure))
        return partial(self._remove_together, removals)

    def _remove_together(self, removals: list[Callable[[], None]]) -> None:
        with self.lock:
            for remove in removals:
                remove()

    def made(
        self,
        kind: Kind,
        function: Callable[..., Any],
        options: Mapping[str, Any],
        origin: Origin = _HERE,
        gate: Callable[[int], Gate] | None = None,
    ) -> Addition:
        """A thing of what its author says of it, which can be made anew of something else."""
        # Calls that run while it is made anew still count against its limit.
        gate = gate or cache(gate_of)
        if not callable(function):
            raise TypeError(f"what is registered is a function, not {function!r}")
        options = _kept(options)
        given = dict(options)
        flags = {name: value for name, value in options.items() if name in _FLAGS}
        check_flags(f"{kind} {given.get('name') or name_of(function)!r}", **flags)
        replace, shared = given.pop("replace", False), given.pop("shared", False)
        if replace and shared:
            raise TypeError("replace takes a name away, and shared keeps it; pass one of them")
        name = given.pop("name", None)
        own = name_of(function) if name is None else name
        bounds = {bound: given.pop(bound) for bound in _BOUNDS if bound in given}
        ready = self.ready(gate=gate, **bounds)
        said = _Said(function, own, ready, given, origin)
        addition = Addition(*self._makers[kind](said), replace, shared)

        def anew(other: Callable[..., Any] | None, changes: Mapping[str, Any]) -> Any:
            another = function if other is None else other
            changed = {**options, "name": own, **changes}
            return self.made(kind, another, changed, origin, gate).item

        addition.item.recipe = anew
        return addition

    def _tool(self, said: _Said) -> tuple[Registry[Tool], str, Tool]:
        check_cache(said.options.get("cache", 0))
        given = {name: said.options.pop(name, None) for name in _HINTS}
        annotations = hints(f"tool {said.own!r}", **given)
        tool = Tool(
            said.function,
            ToolDetails(annotations=annotations, **said.options),
            name=said.origin.prefix.name(said.own),
            ready=said.ready,
            limit=self.limits.result_bytes,
            custom=said.origin.custom(said.own),
            mask=self.mask,
        )
        return self.tools.registry, tool.name, tool

    def _resource(self, said: _Said) -> tuple[Registry[Resource], str, Resource]:
        prefix = said.origin.prefix
        resource = Resource(
            said.function,
            prefix.uri(said.origin.uri),
            name=said.own,
            ready=said.ready,
            custom=said.origin.custom(None),
            unknown=prefix.length,
            **said.options,
        )
        parts = self.resources
        registry = parts.direct if resource.template is None else parts.templates
        return registry, key_of(resource.uri), resource

    def _prompt(self, said: _Said) -> tuple[Registry[Prompt], str, Prompt]:
        prompt = Prompt(
            said.function,
            name=said.origin.prefix.name(said.own),
            ready=said.ready,
            custom=said.origin.custom(said.own),
            **said.options,
        )
        return self.prompts.registry, prompt.name, prompt

    def ready(
        self,
        timeout: float | None = None,
        limit: int | None = None,
        thread: bool = True,
        gate: Callable[[int], Gate] | None = None,
        run_on: object = None,
    ) -> Callable[[Signature], Callee]:
        """What makes a function of ours callable, within the bounds its author has set."""
        check_bounds(timeout, limit)
        entrance = None if limit is None else (gate or gate_of)(limit)
        place = None if run_on is None else _place(run_on)
        return lambda signature: Callee(
            signature, self.context, inline=not thread, timeout=timeout, gate=entrance, place=place
        )

    # What there is

    def capabilities(self) -> ServerCapabilities:
        """What the server offers, which is what is registered now."""
        tools, resources, prompts = self.tools.registry, self.resources, self.prompts.registry
        changes = ListChanged(list_changed=True)
        return ServerCapabilities(
            tools=changes if tools else UNSET,
            resources=ResourcesCapability(subscribe=True, list_changed=True)
            if resources
            else UNSET,
            prompts=changes if prompts else UNSET,
            completions={} if self.completions else UNSET,
            logging={} if tools or resources or prompts else UNSET,
        )

    def named(self, call: Call) -> str | None:
        """The tool, prompt or resource that a call names, if it is registered."""
        params: Any = call.params
        registries: Mapping[str, tuple[Registry[Any], str]] = {
            "tools/call": (self.tools.registry, "name"),
            "prompts/get": (self.prompts.registry, "name"),
            "resources/read": (self.resources.direct, "uri"),
        }
        registry, field = registries[call.method]
        named = getattr(params, field)
        found = registry.get(key_of(named) if field == "uri" else named)
        return None if found is None else found.subject.name

    def reaches(self, other: "Offers") -> bool:
        """Is the other one this one, or a part of it?"""
        return other is self or any(each.reaches(other) for each in self.included)

    def followed(self) -> frozenset[str]:
        """The lists that clients can follow."""
        parts = {
            "tools": self.tools.registry,
            "resources": self.resources,
            "prompts": self.prompts.registry,
        }
        return frozenset(name for name, part in parts.items() if part)

    def tell_all(self) -> None:
        """Tell clients that every list may have changed."""
        self.tell_of(_KINDS)

    def forget_pages(self) -> None:
        """What is evaluated has changed, or how much of it there is."""
        for registry in (
            self.tools.registry,
            self.prompts.registry,
            self.resources.direct,
            self.resources.templates,
        ):
            registry.forget_pages()

    def tell_of(self, lists: Container[str]) -> None:
        """Tell clients that these lists may have changed."""
        for name, kind in _KINDS.items():
            if name in lists:
                self.changes.publish(ListChange(kind))

    def _tell(self, kind: ListKind) -> Callable[[], None]:
        return lambda: self.changes.publish(ListChange(kind))


def _place(run_on: object) -> Place:
    from ..calls.run_on import place_of  # noqa: PLC0415

    return place_of(run_on)


def gate_of(size: int) -> Gate:
    """What lets so many calls through at once."""
    from ..process.concurrency_limit import Gate  # noqa: PLC0415

    return Gate(size)
