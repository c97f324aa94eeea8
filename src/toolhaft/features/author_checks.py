"""What an author's code says of itself: the name and the docstring of a function, its version."""

import inspect
import math
from collections.abc import Callable, Collection, Mapping
from functools import partial
from importlib import import_module
from typing import Any, cast

from ..encoding.envelope import encode
from ..protocol.limits import Limits
from ..schema.docstrings import Docstring, read
from ..suggestions import unknown_keyword
from ..types.content import Annotations
from ..types.wire import Icon
from .type_checks import valid_icon, valid_meta, valid_website


def unwrapped(function: Callable[..., Any]) -> Any:
    """What is inside of a `functools.partial`, or of several."""
    target: Any = function
    while isinstance(target, partial):
        target = target.func
    return target


def name_of(function: Callable[..., Any]) -> str:
    """The name under which a function is registered unless its author gives another."""
    target = unwrapped(function)
    name = getattr(target, "__name__", None) or type(target).__name__
    if name == "<lambda>":
        raise TypeError("a lambda has no name; pass name=…")
    return str(name)


def documentation(function: Callable[..., Any], names: Collection[str], what: str) -> Docstring:
    """What the docstring says of a function and of its parameters.

    Raises:
        TypeError: it describes a parameter that the function does not have.
    """
    target = unwrapped(function)
    if not inspect.isroutine(target) and not isinstance(target, type):
        target = type(target).__call__
    doc = getattr(target, "__doc__", None)
    return read(doc, names, what) if doc else Docstring(None, {})


def text_of(error: BaseException) -> str:
    """The text of an author's error, which may itself be broken."""
    try:
        return str(error)
    except Exception as broken:
        return f"(no text: {type(broken).__name__})"


def version_of(caller: dict[str, Any]) -> str:
    """The version of the distribution that the author's module is part of, if it is."""
    package = str(caller.get("__name__", "__main__")).partition(".")[0]
    if package == "__main__" or caller.get("__package__") in (None, ""):
        return "0.0.0"
    # Loaded only here, for it takes as long as the rest of the library together.
    metadata = import_module("importlib.metadata")
    try:
        return str(metadata.version(package))
    except metadata.PackageNotFoundError:
        return "0.0.0"


def check_options(what: str, function: object, options: Mapping[str, Any], known: type) -> None:
    """Is this how a decorator is used?

    Args:
        what: the decorator, as in `@server.tool`.
        known: a `TypedDict` with the options it has.

    Raises:
        TypeError: it is not; the message says how.
    """
    kind = what.rpartition(".")[2].lstrip("@")
    if isinstance(function, classmethod):
        raise TypeError(
            f"{what} cannot take a classmethod inside of its class; register it "
            f"afterwards, as in server.add_{kind}(TheClass.its_name)"
        )
    if function is not None and not callable(function):
        raise TypeError(f"{what} takes keywords only, as in {what}(name={function!r})")
    names = known.__annotations__
    for name in options:
        if name not in names:
            raise TypeError(unknown_keyword(what, name, names))


def _are(kind: type) -> Callable[[Any], bool]:
    """Is something a collection of these? A text is one of letters, which nobody means."""
    return lambda value: (
        isinstance(value, Collection)
        and not isinstance(value, str)
        and all(isinstance(item, kind) for item in cast(Collection[object], value))
    )


# What each keyword takes: how that is told, and how it is said.
_DESCRIBED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (lambda value: isinstance(value, str) and bool(value), "a str that is not empty"),
    **dict.fromkeys(
        (
            *("title", "description", "category", "mime_type"),
            *("version", "instructions", "website_url"),  # of a server
        ),
        (lambda value: isinstance(value, str), "a str"),
    ),
    **dict.fromkeys(
        ("read_only", "destructive", "idempotent", "open_world"),
        (lambda value: isinstance(value, bool), "True or False"),
    ),
    "icons": (_are(Icon), "a list of Icon(…)"),
    "tags": (_are(str), "a list of str"),
    "meta": (lambda value: isinstance(value, dict), "a dict"),
    "providers": (_are(object), "a list of objects"),
    "lifespan": (callable, "a function that takes the server"),
    "size": (lambda value: type(value) is int and value >= 0, "a number of bytes"),
    "annotations": (
        lambda value: isinstance(value, Annotations),
        "Annotations(…) of toolhaft.types.content",
    ),
}


def _valid_icons(what: str, icons: Collection[Icon]) -> None:
    for icon in icons:
        valid_icon(what, icon)


# Keywords that clients read by rules of their own.
_HELD_TO_RULES: dict[str, Callable[[str, Any], None]] = {
    "meta": valid_meta,
    "icons": _valid_icons,
    "website_url": valid_website,
}


# What is told as it is given. All else is made of parts that are ours, or is not told.
_TOLD: tuple[type[object], ...] = (str, dict)


def check_described(what: str, **given: object) -> None:
    """Is what an author says of something what a client can read? One that is wrong would make
    the whole list unreadable.

    Raises:
        TypeError, ValueError: it is not; the message names the keyword.
    """
    for name, value in given.items():
        fits, expected = _DESCRIBED[name]
        if value is not None and not fits(value):
            raise TypeError(f"{what}: {name} must be {expected}, not {value!r}")
        if value is not None and name in _HELD_TO_RULES:
            _HELD_TO_RULES[name](what, value)
        if isinstance(value, _TOLD):
            try:
                encode(value)
            except (TypeError, ValueError, RecursionError) as error:
                raise TypeError(f"{what}: {name} cannot be told in JSON: {error}") from None


def check_bounds(timeout: object, limit: object) -> None:
    """Can a function be bounded by these?

    Raises:
        ValueError: it cannot; the message names the keyword.
    """
    if timeout is not None and not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
        raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}")
    if limit is not None and not (isinstance(limit, int) and limit >= 1):
        raise ValueError(f"limit must be a number of calls of at least 1, not {limit!r}")


def check_cache(seconds: object) -> None:
    """Can something be kept for so long?

    Raises:
        ValueError: it cannot.
    """
    if not (isinstance(seconds, int | float) and 0 <= seconds < math.inf):
        raise ValueError(f"cache must be a number of seconds, 0 or more, not {seconds!r}")


def check_settings(
    name: object, page_size: object, limits: object, errors: object, **described: object
) -> None:
    """Can a server be made of these?

    Args:
        described: what it says of itself, and what it is made of.

    Raises:
        TypeError, ValueError: it cannot; the message names the setting.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"a server needs a name, which is a str, not {name!r}")
    if not (page_size is None or (isinstance(page_size, int) and page_size >= 1)):
        raise ValueError(f"page_size must be an int of at least 1, not {page_size!r}")
    if not (limits is None or isinstance(limits, Limits)):
        raise TypeError(f"limits must be Limits(…), not {limits!r}")
    if errors not in ("mask", "show"):
        raise ValueError(f'errors must be "mask" or "show", not {errors!r}')
    check_described("Server", name=name, **described)
