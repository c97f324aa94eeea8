"""What a file says of serving over HTTP, where `toolhaft run` serves it otherwise.

`toolhaft run --http` takes the server of a file, and not its call of `run`. A guard in that call
would then protect nothing, so the command refuses to serve; of all else it says that it is unused.
The call may stand below `if __name__ == "__main__"`, which does not run here: so it is looked for
in the text of the file as well.
"""

import argparse
import ast
import os
from collections.abc import Sequence
from pathlib import Path

from .shared.console import complain
from .target import BadTarget, Loaded

_GUARD = "guard"
_SERVING = ("run", "asgi", "mount", "Listener")
# What the options of the command line are called in Python.
_OPTIONS = {
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
_DEFAULTS = {"path": "/mcp", "workers": 1, "sessions": "auto", "runner": "uvicorn"}


def used_of(options: argparse.Namespace) -> list[str]:
    """The options for HTTP that the command line gives."""
    names = [*_OPTIONS.values(), "no_guard"]
    return [
        name
        for name in names
        if getattr(options, name) not in (_DEFAULTS.get(name), [], None, False)
    ]


def spelled(names: Sequence[str]) -> str:
    """Options as they are written on the command line."""
    return " and ".join("--" + name.replace("_", "-") for name in names)


def check_unused(loaded: Loaded, options: argparse.Namespace) -> None:
    """Say which options of the file are not used.

    Raises:
        BadTarget: one of them is a guard, and the command line does not say to serve without.
    """
    if loaded.file is None:
        return
    said = loaded.given | _said_in(Path(loaded.file))
    file = os.path.basename(loaded.file)
    if _GUARD in said and not options.no_guard:
        raise BadTarget(
            f"{file} has a guard, which toolhaft run --http does not use, so that nothing would "
            f"keep callers out. Put a Listener into the file, as in listener = Listener("
            f'"127.0.0.1:8000", {{"/mcp": server}}, guard=…), and run it: toolhaft run '
            f"{options.target.partition(':')[0]}:listener. Or serve without the guard: --no-guard"
        )
    used = used_of(options)
    unused = [name for name, option in _OPTIONS.items() if name in said and option not in used]
    if unused:
        instead = spelled([_OPTIONS[name] for name in unused])
        complain(
            f"toolhaft: {file} passes {' and '.join(unused)} to server.run, asgi or a Listener, "
            f"which toolhaft run does not use; pass {instead} instead"
        )


def _said_in(file: Path) -> set[str]:
    """The names of the options that calls in a file give to what serves over HTTP."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return set()  # no text, as of a module that comes compiled
    keywords = [
        keyword
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _serves(node)
        for keyword in node.keywords
    ]
    said = {each.arg for each in keywords if each.arg and not _says_nothing(each.arg, each.value)}
    # Options that are passed by `**` may have a guard among them, if the file names one at all.
    is_unclear = any(each.arg is None for each in keywords) and any(
        map(_names_guard, ast.walk(tree))
    )
    return said | {_GUARD} if is_unclear else said


def _names_guard(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == _GUARD and not _says_nothing(_GUARD, node.value)
    return isinstance(node, ast.Constant) and node.value == _GUARD


def _serves(call: ast.Call) -> bool:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    # There are other functions called `run`, and they have no address.
    is_ours = name != "run" or any(each.arg in ("http", None) for each in call.keywords)
    return name in _SERVING and is_ours


def _says_nothing(name: str, value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return value.value in (_DEFAULTS.get(name), None, False)
    return isinstance(value, ast.List | ast.Tuple) and not value.elts
