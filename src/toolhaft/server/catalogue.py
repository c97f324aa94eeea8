"""The catalogue of a server: its registries, and registration of one entry or of several."""

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
from ..features.providers.handlers import CustomHandler, Hook
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
from ..schema.fresh_defaults import fresh_copy
from ..types.lifecycle import ListChanged, ResourcesCapability, ServerCapabilities
from .handles import Handles, PromptHandle, ResourceHandle, ToolHandle
from .keywords import Kind, check_flags

T = TypeVar("T")
_HINTS = ("read_only", "destructive", "idempotent", "open_world")
# Options that are JSON and are sent to clients unchanged.
_DATA = ("input_schema", "output_schema", "meta")
_BOUNDS = ("timeout", "limit", "thread", "run_on")
_FLAGS = ("thread", "replace", "shared", "strict", "needs_session", "raw")
# List of a provider -> list that a change notification names for it.
_KINDS: Mapping[str, ListKind] = {
    "tools": "tools",
    "prompts": "prompts",
    "resources": "resources",
    "templates": "resources",
}


def _snapshot(options: Mapping[str, Any]) -> dict[str, Any]:
    """Copy options, so that later changes to a schema or a `_meta` do not affect the entry."""
    copied = dict(options)
    for name in _DATA:
        if name in copied:
            # A value that contains itself cannot be copied; validation refuses it by its name.
            with suppress(RecursionError):
                copied[name] = fresh_copy(copied[name])
    return copied


class Addition(Struct, frozen=True):
    """An entry that is ready to be registered, alone or together with others."""

    registry: Registry[Any]
    name: str
    item: Any
    replace: bool = False
    # Registered several times, it is removed with the last of its handles.
    shared: bool = False

    def check(self) -> None:
        """Check that the name can be registered.

        Raises:
            ValueError: the name is taken.
        """
        if self.shared:
            self.registry.check_sharable(self.name, self._is_same)
        elif not self.replace:
            self.registry.check_free(self.name)

    def register(self) -> int:
        """Register the entry and return its registration ID.

        Raises:
            ValueError: the name is taken.
        """
        if self.shared:
            return self.registry.share(self.name, self.item, self._is_same)
        return self.registry.add(self.name, self.item, replace=self.replace)

    def _is_same(self, other: Any) -> bool:
        return bool(self.item.signature.function == other.signature.function)


class Origin(Struct, frozen=True):
    """Origin of an entry: its prefix, the handler that runs before its function, and the URI of a
    resource."""

    prefix: Prefix = Prefix(None)
    handler: Hook | None = None
    uri: str = ""

    def custom(self, own: str | None) -> CustomHandler | None:
        """Return the handler, which is called with the name without the prefix."""
        return None if self.handler is None else CustomHandler(self.handler, own, has_method=True)


_LOCAL = Origin()


class _Declaration(Struct, frozen=True):
    """An author's declaration of an entry: function, name without prefix, callee factory, other
    options."""

    function: Callable[..., Any]
    own: str
    ready: Callable[[Signature], Callee]
    options: dict[str, Any]
    origin: Origin


class Catalogue:
    """The registries of a server: tools, resources, templates and prompts."""

    def __init__(
        self, *, page_size: int | None, limits: Limits, mask: Mask, context: MakeContext
    ) -> None:
        self.limits = limits
        self.mask = mask
        self.context = context
        self.lock = threading.RLock()
        self.changes = Changes(self.lists)
        # Catalogues of included servers.
        self.included: list[Catalogue] = []

        def registry(what: str, kind: ListKind, **more: Any) -> Registry[Any]:
            return Registry(what, page_size, self._publisher(kind), self.lock, **more)

        self.tools = Tools(registry("tool", "tools", vet=vet_name), mask=mask)
        self.resources = Resources(
            registry("resource", "resources"), registry("template", "resources")
        )
        self.prompts = Prompts(registry("prompt", "prompts"))
        self._makers: Mapping[Kind, Callable[[_Declaration], tuple[Registry[Any], str, Any]]] = {
            "tool": self._tool,
            "resource": self._resource,
            "prompt": self._prompt,
        }
        self.completions = Completions(self.prompts, self.resources)
        direct, templates = self.resources.direct, self.resources.templates
        self.tool_handles = Handles((self.tools.registry,), ToolHandle)
        self.resource_handles = Handles((direct, templates), ResourceHandle, key_of)
        self.prompt_handles = Handles((self.prompts.registry,), PromptHandle)

    # Registration

    def add_tool(self, function: Callable[..., Any], **options: Any) -> ToolHandle:
        """Register a tool; see `Server.add_tool`."""
        return self._add(self.make_addition("tool", function, options), ToolHandle)

    def add_resource(
        self, function: Callable[..., Any], uri: str, **options: Any
    ) -> ResourceHandle:
        """Register a resource; see `Server.add_resource`."""
        expect(f"resource {uri!r}", "uri", uri, str)
        addition = self.make_addition("resource", function, options, Origin(uri=uri))
        return self._add(addition, ResourceHandle)

    def add_prompt(self, function: Callable[..., Any], **options: Any) -> PromptHandle:
        """Register a prompt; see `Server.add_prompt`."""
        return self._add(self.make_addition("prompt", function, options), PromptHandle)

    def _add(self, addition: Addition, handle: Callable[[Registry[Any], str, int], T]) -> T:
        with self.lock:
            return handle(addition.registry, addition.name, addition.register())

    def add_together(self, additions: list[Addition]) -> Callable[[], None]:
        """Register all additions or none. Return a function that removes them."""
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
                registration_id = addition.register()
                removals.append(partial(addition.registry.discard, addition.name, registration_id))
        return partial(self._remove_together, removals)

    def _remove_together(self, removals: list[Callable[[], None]]) -> None:
        with self.lock:
            for remove in removals:
                remove()

    def make_addition(
        self,
        kind: Kind,
        function: Callable[..., Any],
        options: Mapping[str, Any],
        origin: Origin = _LOCAL,
        gate: Callable[[int], Gate] | None = None,
    ) -> Addition:
        """Build an entry from its declaration, with the recipe for `Handle.update`."""
        # A rebuilt entry shares the gate, so that running calls still count against its limit.
        gate = gate or cache(gate_of)
        if not callable(function):
            raise TypeError(f"what is registered is a function, not {function!r}")
        options = _snapshot(options)
        given = dict(options)
        flags = {name: value for name, value in options.items() if name in _FLAGS}
        check_flags(f"{kind} {given.get('name') or name_of(function)!r}", **flags)
        replace, shared = given.pop("replace", False), given.pop("shared", False)
        if replace and shared:
            raise TypeError("replace takes a name away, and shared keeps it; pass one of them")
        name = given.pop("name", None)
        own = name_of(function) if name is None else name
        bounds = {bound: given.pop(bound) for bound in _BOUNDS if bound in given}
        ready = self.callee_factory(gate=gate, **bounds)
        declaration = _Declaration(function, own, ready, given, origin)
        addition = Addition(*self._makers[kind](declaration), replace, shared)

        def rebuild(other: Callable[..., Any] | None, changes: Mapping[str, Any]) -> Any:
            another = function if other is None else other
            changed = {**options, "name": own, **changes}
            return self.make_addition(kind, another, changed, origin, gate).item

        addition.item.recipe = rebuild
        return addition

    def _tool(self, declaration: _Declaration) -> tuple[Registry[Tool], str, Tool]:
        check_cache(declaration.options.get("cache", 0))
        given = {name: declaration.options.pop(name, None) for name in _HINTS}
        annotations = hints(f"tool {declaration.own!r}", **given)
        tool = Tool(
            declaration.function,
            ToolDetails(annotations=annotations, **declaration.options),
            name=declaration.origin.prefix.name(declaration.own),
            ready=declaration.ready,
            limit=self.limits.result_bytes,
            custom=declaration.origin.custom(declaration.own),
            mask=self.mask,
        )
        return self.tools.registry, tool.name, tool

    def _resource(self, declaration: _Declaration) -> tuple[Registry[Resource], str, Resource]:
        prefix = declaration.origin.prefix
        resource = Resource(
            declaration.function,
            prefix.uri(declaration.origin.uri),
            name=declaration.own,
            ready=declaration.ready,
            custom=declaration.origin.custom(None),
            unknown=prefix.length,
            **declaration.options,
        )
        parts = self.resources
        registry = parts.direct if resource.template is None else parts.templates
        return registry, key_of(resource.uri), resource

    def _prompt(self, declaration: _Declaration) -> tuple[Registry[Prompt], str, Prompt]:
        prompt = Prompt(
            declaration.function,
            name=declaration.origin.prefix.name(declaration.own),
            ready=declaration.ready,
            custom=declaration.origin.custom(declaration.own),
            **declaration.options,
        )
        return self.prompts.registry, prompt.name, prompt

    def callee_factory(
        self,
        timeout: float | None = None,
        limit: int | None = None,
        thread: bool = True,
        gate: Callable[[int], Gate] | None = None,
        run_on: object = None,
    ) -> Callable[[Signature], Callee]:
        """Return a function that makes a `Callee` of a signature, with the bounds of its author."""
        check_bounds(timeout, limit)
        entrance = None if limit is None else (gate or gate_of)(limit)
        place = None if run_on is None else _place(run_on)
        return lambda signature: Callee(
            signature, self.context, inline=not thread, timeout=timeout, gate=entrance, place=place
        )

    # Lookup and change notifications

    def capabilities(self) -> ServerCapabilities:
        """Return the capabilities for the entries that are registered now."""
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

    def registered_name(self, call: Call) -> str | None:
        """Return the name of the registered entry that a call names, or None."""
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

    def reaches(self, other: "Catalogue") -> bool:
        """Whether `other` is this catalogue or is included in it, directly or not."""
        return other is self or any(each.reaches(other) for each in self.included)

    def lists(self) -> frozenset[str]:
        """Return the names of the lists that have entries."""
        parts = {
            "tools": self.tools.registry,
            "resources": self.resources,
            "prompts": self.prompts.registry,
        }
        return frozenset(name for name, part in parts.items() if part)

    def publish_all(self) -> None:
        """Publish a change of every list."""
        self.publish_changes(_KINDS)

    def forget_pages(self) -> None:
        """Drop the cached pages of all lists, because evaluated sources have changed."""
        for registry in (
            self.tools.registry,
            self.prompts.registry,
            self.resources.direct,
            self.resources.templates,
        ):
            registry.forget_pages()

    def publish_changes(self, lists: Container[str]) -> None:
        """Publish a change of each of these lists."""
        for name, kind in _KINDS.items():
            if name in lists:
                self.changes.publish(ListChange(kind))

    def _publisher(self, kind: ListKind) -> Callable[[], None]:
        return lambda: self.changes.publish(ListChange(kind))


def _place(run_on: object) -> Place:
    from ..calls.run_on import place_of  # noqa: PLC0415

    return place_of(run_on)


def gate_of(size: int) -> Gate:
    """Return a gate that admits `size` calls at a time."""
    from ..process.concurrency_limit import ConcurrencyLimit  # noqa: PLC0415

    return ConcurrencyLimit(size)
