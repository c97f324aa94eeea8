"""The `toolhaft` command. The module of a sub-command is imported only when it is run."""

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from toolhaft_bridge.command import attach

from . import options as command_options

# Exit status after SIGINT: 128 + 2.
_INTERRUPTED = 130
# Columns of the longest command name with its indent.
_COMMAND_COLUMNS = 14
_UNKNOWN_OPTION = re.compile(r"^(?:ambiguous option|unrecognized arguments): --([\w-]+)")


class _HelpFormatter(argparse.HelpFormatter):
    """Help with one column width for all commands; argparse ignores the indent of their names."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = _COMMAND_COLUMNS


class _VersionAction(argparse.Action):
    """Action of `--version`. Reads the version only when used, because that is slow."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"toolhaft {import_module('toolhaft').__version__}")
        parser.exit()


class _CommandParser(argparse.ArgumentParser):
    """Parser of a sub-command that explains how to write arguments of tools and prompts."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit; for an unknown option, suggest `name=…`."""
        if self.prog.endswith((" call", " prompt")) and (found := _UNKNOWN_OPTION.search(message)):
            message += f"; arguments are written without dashes, as in {found[1]}=…"
        super().error(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a sub-command and return the exit status."""
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    if given[:1] == ["attach"] and not {"-h", "--help"} & set(given):
        return attach(given[1:])
    try:
        return _run(given)
    except KeyboardInterrupt:
        return _INTERRUPTED


def _run(given: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="toolhaft",
        description="Serve Python functions to language models over MCP, or use such a server "
        "from the shell.",
        formatter_class=_HelpFormatter,
    )
    parser.add_argument("--version", action=_VersionAction, help="show the version and exit")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=_CommandParser
    )
    parsers = {
        name: command_options.add_parser(commands, name) for name in command_options.COMMANDS
    }
    chosen = given[0] if given else ""
    if chosen not in parsers:
        parser.parse_args(given)
        parser.error("the command comes first, as in toolhaft run server.py")
    command_options.add_arguments(parsers[chosen], chosen, given[1:])
    # Options are allowed anywhere, also between the arguments of a tool.
    options = parsers[chosen].parse_intermixed_args(given[1:])
    return int(import_module(f"{__name__}.commands.{chosen}").execute(options))
