"""An object as a provider: its marked methods, its evaluated lists, and its handlers."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..features.prompts import Prompt
from ..features.providers.handlers import Hook
from ..features.providers.object_provider import HANDLERS, EntryFactory, hooks_of
from ..features.providers.prefix import Prefix
from ..features.providers.registry import Registry, Source
from ..features.resources import Resource
from ..features.tools import Tool
from .catalogue import Addition, Catalogue, Origin, gate_of
from .decorators import discovered, marks_of
from .handles import Inclusion
from .keywords import Kind

# Handler that is called before a marked method of each kind.
_HANDLERS: Mapping[Kind, str] = {
    "tool": "call_tool",
    "resource": "read_resource",
    "prompt": "get_prompt",
}

# Names of list methods and handlers, which `discover` does not make tools.
_RESERVED = frozenset((*HANDLERS, *HANDLERS.values()))


def include(
    catalogue: Catalogue, provider: object, prefix: Prefix, *, thread: bool, discover: bool
) -> Inclusion:
    """Register the marked methods of an object and attach its evaluated lists: all or nothing.

    Args:
        discover: make tools of unmarked methods as well.

    Raises:
        TypeError: there is nothing to include, or a method does not take what it is given.
        ValueError: a name is taken.
    """
    called = type(provider).__name__
    if isinstance(provider, type):
        raise TypeError(f"include takes an instance: {provider.__name__}(), not the class")
    marks = list(marks_of(provider))
    if discover:
        marks += discovered(provider, _RESERVED.union(mark.attribute for mark in marks))
    marked = {mark.attribute for mark in marks}
    hooks = hooks_of(provider, marked, context=catalogue.context, inline=not thread)
    additions = [
        catalogue.make_addition(
            mark.kind,
            mark.function,
            mark.options,
            Origin(prefix, hooks.get(_HANDLERS[mark.kind]), mark.uri),
        )
        for mark in marks
    ]
    sources = _sources(catalogue, hooks, prefix, called, thread=thread)
    _check_handlers(hooks, additions, called)
    if not additions and not sources and discover:
        raise TypeError(
            f"there is nothing in {called} to discover: no public method that it defines itself "
            "has a docstring; write one for each method that is to be a tool"
        )
    if not additions and not sources:
        raise TypeError(
            f"there is nothing in {called} to include: mark its methods with @tool, @resource "
            "or @prompt, or pass discover=True to offer the methods that have a docstring, or give "
            "it tools() and call_tool(name, arguments, ctx)"
        )
    removals: list[Callable[[], None]] = [catalogue.add_together(additions)]
    for registry, source in sources:
        registry.add_source(source)
        removals.append(partial(registry.remove_source, source))
    return Inclusion(removals, partial(catalogue.publish_changes, hooks))


def _sources(
    catalogue: Catalogue, hooks: Mapping[str, Hook], prefix: Prefix, called: str, *, thread: bool
) -> list[tuple[Registry[Any], Source[Any]]]:
    factory = EntryFactory(
        partial(catalogue.callee_factory, thread=thread),
        prefix,
        gate=gate_of,
        limit=catalogue.limits.result_bytes,
        mask=catalogue.mask,
    )
    makers: dict[str, tuple[Registry[Any], Callable[[Hook, Hook], Source[Any]]]] = {
        "tools": (catalogue.tools.registry, factory.tools),
        "prompts": (catalogue.prompts.registry, factory.prompts),
        "resources": (catalogue.resources.direct, factory.resources),
        "templates": (catalogue.resources.templates, factory.templates),
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


def _check_handlers(hooks: Mapping[str, Hook], additions: list[Addition], called: str) -> None:
    """Raise TypeError for a handler without any entry or list that could lead to it."""
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
