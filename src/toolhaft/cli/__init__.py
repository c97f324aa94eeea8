"""The `toolhaft` command. Each sub-command is a module, imported when it is chosen."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

_COMMANDS = {
    "run": "serve a file or module to one client over stdio",
}


class _Version(argparse.Action):
    """Looks the version up only when somebody wants to know: that takes a while."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        metadata = import_module("importlib.metadata")
        print(f"toolhaft {metadata.version('toolhaft')}")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a sub-command; the result is the exit status."""
    parser = argparse.ArgumentParser(
        prog="toolhaft",
        description="Serve Python functions to language models over MCP.",
    )
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    given = list(sys.argv[1:] if arguments is None else arguments)
    chosen = next((word for word in given if not word.startswith("-")), None)
    for name, summary in _COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if name == chosen:
            module = import_module(f"{__name__}.{name}")
            module.configure(command)
            command.set_defaults(execute=module.execute)
    options = parser.parse_args(given)
    return int(options.execute(options))
