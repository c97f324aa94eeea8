"""What a server offers, and how it gets there: one by one, or as the parts of an object."""

import threading
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, TypeVar

from msgspec import UNSET, Struct

from .features.authoring import check_bounds, check_cache, name_of
from .features.calling import Callee
from .features.changes import Changes
from .features.completion import Completions
from .features.context import MakeContext
from .features.custom import Custom, Hook
from .features.joining import Prefix
from .features.prompts import Prompt, Prompts
from .features.providing import HANDLERS, Making, hooks_of
from .features.registry import Registry, Source
from .features.resources import Cache, Resource, Resources, key_of
from .features.signature import Signature
from .features.tools import Mask, Tool, ToolDetails, Tools, hints, vet_name
from .handles import Handles, Inclusion, PromptHandle, ResourceHandle, ToolHandle
from .marks import Kind, marks_of
from .protocol.calls import Call
from .protocol.interests import ListChange, ListKind
from .protocol.limits import Limits
from .protocol.ports import Gate, Place
from .types.lifecycle import ListChanged, ResourcesCapability, ServerCapabilities

T = TypeVar("T")
_HINTS = ("read_only", "destructive", "idempotent", "open_world")
_BOUNDS = ("timeout", "limit", "thread", "run_on")
# Which list a client follows to hear of changes in one of an object's.
_KINDS: Mapping[str, ListKind] = {
    "tools": "tools",
    "prompts": "prompts",
    "resources": "resources",
    "templates": "resources",
}
# Who is asked before a method with a mark.
_HANDLERS: Mapping[Kind, str] = {
    "tool": "call_tool",
    "resource": "read_resource",
    "prompt": "get_prompt",
}


class _Addition(Struct, frozen=True):
    """Something that is to be registered, with others or not at all."""

    registry: Registry[Any]
    name: str
    item: Any
    replace: bool = False


class _Origin(Struct, frozen=True):
    """Where a thing is from: which prefix it has, who is asked before its function, and the URI of
    a resource."""

    prefix: Prefix = Prefix(None)
    handler: Hook | None = None
    uri: str = ""

    def custom(self, own: str | None) -> Custom | None:
        """What is asked first, by the name that it knows."""
        return None if self.handler is None else Custom(self.handler, own, is_whole=True)


_HERE = _Origin()


class _Said(Struct, frozen=True):
    """What an author says of a thing: its function, the name it has for them, how it is called, and
    all other options."""

    function: Callable[..., Any]
    own: str
    ready: Callable[[Signature], Callee]
    options: dict[str, Any]
    origin: _Origin


class Offers:
    """The tools, resources and prompts of a server."""

    def __init__(
        self, *, page_size: int | None, limits: Limits, mask: Mask, context: MakeContext
    ) -> None:
        self._limits = limits
        self._mask = mask
        self._context = context
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
        return self._add(self._made("tool", function, options), ToolHandle)

    def add_resource(
        self, function: Callable[..., Any], uri: str, **options: Any
    ) -> ResourceHandle:
        """Register a resource; see `Server.add_resource`."""
        addition = self._made("resource", function, options, _Origin(uri=uri))
        return self._add(addition, ResourceHandle)

    def add_prompt(self, function: Callable[..., Any], **options: Any) -> PromptHandle:
        """Register a prompt; see `Server.add_prompt`."""
        return self._add(self._made("prompt", function, options), PromptHandle)

    def _add(self, addition: _Addition, handle: Callable[[Registry[Any], str], T]) -> T:
        with self.lock:
            addition.registry.add(addition.name, addition.item, replace=addition.replace)
            return handle(addition.registry, addition.name)

    def _made(
        self,
        kind: Kind,
        function: Callable[..., Any],
        options: Mapping[str, Any],
        origin: _Origin = _HERE,
        gate: Callable[[int], Gate] | None = None,
    ) -> _Addition:
        """A thing of what its author says of it, which can be made anew of something else."""
        # Calls that run while it is made anew still count against its limit.
        gate = gate or cache(_gate)
        if not callable(function):
            raise TypeError(f"what is registered is a function, not {function!r}")
        given = dict(options)
        replace, name = bool(given.pop("replace", False)), given.pop("name", None)
        own = name_of(function) if name is None else name
        bounds = {bound: given.pop(bound) for bound in _BOUNDS if bound in given}
        ready = self.ready(gate=gate, **bounds)
        said = _Said(function, own, ready, given, origin)
        addition = _Addition(*self._makers[kind](said), replace)

        def anew(other: Callable[..., Any] | None, changes: Mapping[str, Any]) -> Any:
            another = function if other is None else other
            changed = {**options, "name": own, **changes}
            return self._made(kind, another, changed, origin, gate).item

        addition.item.recipe = anew
        return addition

    def _tool(self, said: _Said) -> tuple[Registry[Tool], str, Tool]:
        check_cache(said.options.get("cache", 0))
        annotations = hints(*(said.options.pop(name, None) for name in _HINTS))
        tool = Tool(
            said.function,
            ToolDetails(annotations=annotations, **said.options),
            name=said.origin.prefix.name(said.own),
            ready=said.ready,
            limit=self._limits.result_bytes,
            custom=said.origin.custom(said.own),
            mask=self._mask,
        )
        return self.tools.registry, tool.name, tool

    def _resource(self, said: _Said) -> tuple[Registry[Resource], str, Resource]:
        prefix = said.origin.prefix
        resource = Resource(
            said.function,
            prefix.uri(said.origin.uri),
            name=said.own,
            ready=said.ready,
            cache=Cache.of(said.options.pop("cache", None)),
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
        entrance = None if limit is None else (gate or _gate)(limit)
        place = None if run_on is None else _place(run_on)
        return lambda signature: Callee(
            signature, self._context, inline=not thread, timeout=timeout, gate=entrance, place=place
        )

    # The parts of an object

    def include(self, provider: object, prefix: Prefix, *, thread: bool) -> Inclusion:
        """Register what an object has marked, and ask it for what it lists: all or nothing."""
        called = type(provider).__name__
        if isinstance(provider, type):
            raise TypeError(f"include takes an instance: {provider.__name__}(), not the class")
        marks = list(marks_of(provider))
        marked = {mark.attribute for mark in marks}
        hooks = hooks_of(provider, marked, context=self._context, inline=not thread)
        additions = [
            self._made(
                mark.kind,
                mark.function,
                mark.options,
                _Origin(prefix, hooks.get(_HANDLERS[mark.kind]), mark.uri),
            )
            for mark in marks
        ]
        sources = self._sources(hooks, prefix, called, thread=thread)
        _check_handlers(hooks, additions, called)
        if not additions and not sources:
            raise TypeError(
                f"there is nothing in {called} to include: mark its methods with @tool, @resource "
                "or @prompt, or give it tools() and call_tool(name, arguments, ctx)"
            )
        added = self._add_together(additions)
        removals: list[Callable[[], None]] = [partial(self._remove_together, added)]
        for registry, source in sources:
            registry.attend(source)
            removals.append(partial(registry.leave, source))
        return Inclusion(removals, partial(self._tell_of, hooks))

    def _sources(
        self, hooks: Mapping[str, Hook], prefix: Prefix, called: str, *, thread: bool
    ) -> list[tuple[Registry[Any], Source[Any]]]:
        making = Making(
            partial(self.ready, thread=thread),
            prefix,
            gate=_gate,
            limit=self._limits.result_bytes,
            mask=self._mask,
        )
        makers: dict[str, tuple[Registry[Any], Callable[[Hook, Hook], Source[Any]]]] = {
            "tools": (self.tools.registry, making.tools),
            "prompts": (self.prompts.registry, making.prompts),
            "resources": (self.resources.direct, making.resources),
            "templates": (self.resources.templates, making.templates),
        }
        found: list[tuple[Registry[Any], Source[Any]]] = []
        for name, (registry, make) in makers.items():
            hook, handler = hooks.get(name), hooks.get(HANDLERS[name])
            if hook is None:
                continue
            if handler is None:
                raise TypeError(
                    f"{called} has {name}() and no {HANDLERS[name]}, so nobody answers for what it "
                    f"lists; add {HANDLERS[name]}, or mark methods instead"
                )
            found.append((registry, make(hook, handler)))
        return found

    def _add_together(self, additions: list[_Addition]) -> list[Callable[[], None]]:
        removals: list[Callable[[], None]] = []
        with self.lock:
            seen: set[tuple[int, str]] = set()
            for addition in additions:
                registry, name = addition.registry, addition.name
                if not addition.replace:
                    registry.check_free(name)
                registry.check_followers(name)
                if (id(registry), name) in seen:
                    raise ValueError(f"{name!r} is marked twice; give one of them another name")
                seen.add((id(registry), name))
            for addition in additions:
                registry, name = addition.registry, addition.name
                tenure = registry.add(name, addition.item, replace=addition.replace)
                removals.append(partial(registry.discard, name, tenure))
        return removals

    def _remove_together(self, removals: list[Callable[[], None]]) -> None:
        with self.lock:
            for remove in removals:
                remove()

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
        self._tell_of(_KINDS)

    def forget_pages(self) -> None:
        """What is evaluated has changed, or how much of it there is."""
        for registry in (
            self.tools.registry,
            self.prompts.registry,
            self.resources.direct,
            self.resources.templates,
        ):
            registry.forget_pages()

    def _tell_of(self, hooks: Mapping[str, object]) -> None:
        for name, kind in _KINDS.items():
            if name in hooks:
                self.changes.publish(ListChange(kind))

    def _tell(self, kind: ListKind) -> Callable[[], None]:
        return lambda: self.changes.publish(ListChange(kind))


def _check_handlers(hooks: Mapping[str, Hook], additions: list[_Addition], called: str) -> None:
    """A handler that nobody can reach is a mistake."""
    kinds: set[type] = {type(addition.item) for addition in additions}
    for name, lists, kind in (
        ("call_tool", ("tools",), Tool),
        ("get_prompt", ("prompts",), Prompt),
        ("read_resource", ("resources", "templates"), Resource),
    ):
        if name in hooks and kind not in kinds and not any(each in hooks for each in lists):
            raise TypeError(
                f"{called} has {name}, and lists nothing that it could be asked for; add "
                f"{' or '.join(f'{each}()' for each in lists)}, or mark methods"
            )


def _place(run_on: object) -> Place:
    from .runtime.place import place_of  # noqa: PLC0415

    return place_of(run_on)


def _gate(size: int) -> Gate:
    from .runtime.gate import Gate  # noqa: PLC0415

    return Gate(size)
