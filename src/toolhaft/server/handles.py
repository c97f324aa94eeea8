"""Handles of registered entries, which change, hide or remove them while they are served."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self, TypeAlias, TypeVar, Unpack, cast

from msgspec import UNSET, structs

from ..features.author_checks import check_options
from ..features.prompts import Prompt
from ..features.providers.registry import Registry
from ..features.resources import Resource
from ..features.tools import Tool
from ..schema.fresh_defaults import fresh_copy
from ..types.prompts import PromptArgument
from .keywords import PromptOptions, ResourceOptions, ToolOptions

Item: TypeAlias = Tool | Resource | Prompt
H = TypeVar("H")


def _none_if_unset(value: Any) -> str | None:
    return None if value is UNSET else value


class Handle:
    """A tool, a resource or a prompt of a server. All methods work from any thread and notify
    clients of the change.

    A `with` block removes the entry at its end."""

    __slots__ = ("_name", "_registration_id", "_registry")

    def __init__(
        self, registry: Registry[Any], name: str, registration_id: int | None = None
    ) -> None:
        self._registry = registry
        self._registration_id = (
            registry.registration_id(name) if registration_id is None else registration_id
        )
        self._name = name

    @property
    def name(self) -> str:
        """Its name on the wire; of a resource, its URI."""
        return self._name

    @property
    def title(self) -> str | None:
        """The display name, if it has one. Like every property of a handle, this is the current
        value as clients get it. Raises KeyError if the entry was removed."""
        return _none_if_unset(self._item.description.title)

    @property
    def description(self) -> str | None:
        """The description that clients get, from the option or the docstring."""
        return _none_if_unset(self._item.description.description)

    @property
    def _item(self) -> Any:
        return self._registry.item(self.name, self._registration_id)

    @property
    def enabled(self) -> bool:
        """Whether clients can list and use it. Raises KeyError if it was removed."""
        return self._registry.is_enabled(self.name, self._registration_id)

    def remove(self) -> None:
        """Remove the entry; a shared one stays until all of its handles have removed it. Raises
        KeyError if it was removed before."""
        self._registry.remove(self.name, self._registration_id)

    def disable(self) -> None:
        """Hide it: clients can neither list nor use it until it is enabled again."""
        self._registry.hide(self.name, self._registration_id)

    def enable(self) -> None:
        """Show it again, in its old place."""
        self._registry.show(self.name, self._registration_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._registry.discard(self.name, self._registration_id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def _update(
        self, function: Callable[..., Any] | None, changes: Mapping[str, Any], known: type
    ) -> None:
        what = type(self).__name__.removesuffix("Handle").lower()
        fixed = {"replace", "shared"} | ({"name"} if what != "resource" else set[str]())
        for name in fixed & changes.keys():
            raise TypeError(f"{what} {self.name!r}: update cannot change {name}; remove it and add")
        if not (function is None or callable(function)):
            raise TypeError(f"{what} {self.name!r}: update takes a function, not {function!r}")
        check_options(f"{what}.update", None, changes, known)

        def altered(item: Item) -> Item:
            if item.recipe is None:
                raise TypeError(f"{what} {self.name!r} is of an included server; update it there")
            made: Item = item.recipe(function, changes)
            return made

        self._registry.change(self.name, self._registration_id, altered)


class ToolHandle(Handle):
    """A tool of a server."""

    __slots__ = ()

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema of its arguments; a copy."""
        return cast(dict[str, Any], fresh_copy(self._item.signature.schema))

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The schema of its result, if one is published; a copy."""
        return cast("dict[str, Any] | None", fresh_copy(self._item.promised.schema))

    def update(
        self, function: Callable[..., Any] | None = None, /, **changes: Unpack[ToolOptions]
    ) -> None:
        """Replace its function or options; options that are not given stay."""
        self._update(function, changes, ToolOptions)


class ResourceHandle(Handle):
    """A resource or a template of a server; its name is its URI."""

    __slots__ = ()

    @property
    def uri(self) -> str:
        """The URI or the template, as its author wrote it."""
        return str(self._item.uri)

    @property
    def mime_type(self) -> str | None:
        """The type of its contents, if its author gave one."""
        return cast("str | None", self._item.mime_type)

    def update(
        self, function: Callable[..., Any] | None = None, /, **changes: Unpack[ResourceOptions]
    ) -> None:
        """Replace its function or options; options that are not given stay."""
        self._update(function, changes, ResourceOptions)


class PromptHandle(Handle):
    """A prompt of a server."""

    __slots__ = ()

    @property
    def arguments(self) -> list[PromptArgument]:
        """Its arguments, in their order; copies."""
        return [structs.replace(each) for each in self._item.description.arguments or ()]

    def update(
        self, function: Callable[..., Any] | None = None, /, **changes: Unpack[PromptOptions]
    ) -> None:
        """Replace its function or options; options that are not given stay."""
        self._update(function, changes, PromptOptions)


class Handles(Mapping[str, H]):
    """The entries of one kind by name, in order of registration, disabled ones included."""

    def __init__(
        self,
        registries: tuple[Registry[Any], ...],
        make: Callable[[Registry[Any], str], H],
        key: Callable[[str], str] = str,
    ) -> None:
        self._registries = registries
        self._make = make
        self._key = key

    def __getitem__(self, name: str) -> H:
        """Return the handle of this name. Raises KeyError if there is none."""
        key = self._key(name)
        first, *others = self._registries
        for registry in others:
            if registry.is_taken(key):
                return self._make(registry, key)
        return self._make(first, key)  # raises KeyError if the name is unknown

    def __iter__(self) -> Iterator[str]:
        return iter([name for registry in self._registries for name in registry.names()])

    def __len__(self) -> int:
        return sum(len(registry.names()) for registry in self._registries)


class Inclusion:
    """Everything that one `Server.include` has added, to be removed as a whole.

    A `with` block removes it at its end."""

    __slots__ = ("_changed", "_removals")

    def __init__(self, removals: list[Callable[[], None]], changed: Callable[[], None]) -> None:
        self._removals = removals
        self._changed = changed

    def add(self, removal: Callable[[], None]) -> None:
        """Add a function to be called on removal; for internal use."""
        self._removals.append(removal)

    def remove(self) -> None:
        """Remove all entries that are still registered. From any thread."""
        while self._removals:
            self._removals.pop()()

    def changed(self) -> None:
        """Notify clients that its lists may have changed, for objects with evaluated lists. From
        any thread."""
        self._changed()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()
