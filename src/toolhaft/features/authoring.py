"""What an author's code says of itself: the name and the summary of a function, its version."""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any


def name_of(function: Callable[..., Any]) -> str:
    """The name under which a function is registered unless its author gives another."""
    target: Any = function
    while hasattr(target, "func"):  # functools.partial
        target = target.func
    name = getattr(target, "__name__", None) or type(target).__name__
    if name == "<lambda>":
        raise TypeError("a lambda has no name; pass name=…")
    return str(name)


def summary_of(function: Callable[..., Any]) -> str | None:
    """The first paragraph of the docstring, on one line."""
    if not inspect.isroutine(function) and not hasattr(function, "__name__"):
        return None
    doc = inspect.getdoc(function)
    return " ".join(doc.partition("\n\n")[0].split()) or None if doc else None


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
