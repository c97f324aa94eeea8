"""Check for HTTP options in a file that `toolhaft run --http` ignores.

`toolhaft run --http` takes the `Server` object of a file but ignores the file's own call of `run`.
A guard passed to that call would not be used, so the command refuses to serve. Other ignored
options only cause a message. A call below `if __name__ == "__main__"` is not executed here, so the
source of the file is searched as well.
"""

import argparse
import ast
import os
from collections.abc import Sequence
from pathlib import Path

from .shared.console import complain
from .target import BadTarget, Loaded

_GUARD = "guard"
# Functions and classes that take HTTP options.
_SERVING_CALLS = ("run", "asgi", "mount", "Listener")
# Python keyword -> attribute of the command-line option.
_OPTION_BY_KEYWORD = {
    "path": "path",
    "workers": "workers",
    "sessions": "sessions",
    "runner": "runner",
    "allow_hosts": "allow_host",
    "allow_origins": "allow_origin",
    "tls": "tls",
    "legacy_sse": "legacy_sse",
    "metrics": "metrics",
}
# Defaults, by keyword and by attribute.
_DEFAULTS = {"path": "/mcp", "workers": 1, "sessions": "auto", "runner": "uvicorn"}


def changed_http_options(options: argparse.Namespace) -> list[str]:
    """Return the HTTP options that the command line sets to another value than the default."""
    names = [*_OPTION_BY_KEYWORD.values(), "no_guard"]
    return [
        name
        for name in names
        if getattr(options, name) not in (_DEFAULTS.get(name), [], None, False)
    ]


def as_flags(names: Sequence[str]) -> str:
    """Format options as command-line flags, such as `--path and --workers`."""
    return " and ".join("--" + name.replace("_", "-") for name in names)


def check_unused(loaded: Loaded, options: argparse.Namespace) -> None:
    """Report the HTTP options of a file that are not used.

    Raises:
        BadTarget: one of them is a guard, and `--no-guard` was not given.
    """
    if loaded.file is None:
        return
    passed = loaded.ignored_keywords | _keywords_in(Path(loaded.file))
    file = os.path.basename(loaded.file)
    if _GUARD in passed and not options.no_guard:
        raise BadTarget(
            f"{file} has a guard, which toolhaft run --http does not use, so that nothing would "
            f"keep callers out. Put a Listener into the file, as in listener = Listener("
            f'"127.0.0.1:8000", {{"/mcp": server}}, guard=…), and run it: toolhaft run '
            f"{options.target.partition(':')[0]}:listener. Or serve without the guard: --no-guard"
        )
    used = changed_http_options(options)
    unused = [
        name for name, option in _OPTION_BY_KEYWORD.items() if name in passed and option not in used
    ]
    if unused:
        instead = as_flags([_OPTION_BY_KEYWORD[name] for name in unused])
        complain(
            f"toolhaft: {file} passes {' and '.join(unused)} to server.run, asgi or a Listener, "
            f"which toolhaft run does not use; pass {instead} instead"
        )


def _keywords_in(file: Path) -> set[str]:
    """Return the keywords, other than defaults, that a file passes to calls in `_SERVING`."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()  # no source, such as a compiled module
    keywords = [
        keyword
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _is_serving_call(node)
        for keyword in node.keywords
    ]
    passed = {each.arg for each in keywords if each.arg and not _is_default(each.arg, each.value)}
    # `**options` may contain a guard: assumed if the file mentions `guard` anywhere.
    is_unclear = any(each.arg is None for each in keywords) and any(
        map(_mentions_guard, ast.walk(tree))
    )
    return passed | {_GUARD} if is_unclear else passed


def _mentions_guard(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == _GUARD and not _is_default(_GUARD, node.value)
    return isinstance(node, ast.Constant) and node.value == _GUARD


def _is_serving_call(call: ast.Call) -> bool:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    # Other functions are called `run` too; only ours is called with `http=` (or `**`).
    is_ours = name != "run" or any(each.arg in ("http", None) for each in call.keywords)
    return name in _SERVING_CALLS and is_ours


def _is_default(name: str, value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return value.value in (_DEFAULTS.get(name), None, False)
    return isinstance(value, ast.List | ast.Tuple) and not value.elts
