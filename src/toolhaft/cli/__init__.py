"""The `toolhaft` command. What a sub-command needs is imported when it is about to be run."""

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from toolhaft_bridge.command import attach

from . import options as words

_INTERRUPTED = 130
_LONGEST_COMMAND = 14
_OPTION = re.compile(r"^(?:ambiguous option|unrecognized arguments): --([\w-]+)")


class _Help(argparse.HelpFormatter):
    """Leaves room for the longest name of a command, which is not counted with its indent."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = _LONGEST_COMMAND


class _Version(argparse.Action):
    """Looks the version up only when somebody wants to know: that takes a while."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"toolhaft {import_module('toolhaft').__version__}")
        parser.exit()


class _Command(argparse.ArgumentParser):
    """Knows what is meant by an option that is none, where there are arguments of others."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end."""
        if self.prog.endswith((" call", " prompt")) and (found := _OPTION.search(message)):
            message += f"; arguments are written without dashes, as in {found[1]}=…"
        super().error(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a sub-command; the result is the exit status."""
    # Not `list`, which is a command of ours once that is imported.
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
        formatter_class=_Help,
    )
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=_Command
    )
    parsers = {name: words.declare(commands, name) for name in words.COMMANDS}
    chosen = given[0] if given else ""
    if chosen not in parsers:
        parser.parse_args(given)
        parser.error("the command comes first, as in toolhaft run server.py")
    words.complete(parsers[chosen], chosen, given[1:])
    # Options may stand anywhere, also between the arguments of a tool.
    options = parsers[chosen].parse_intermixed_args(given[1:])
    return int(import_module(f"{__name__}.commands.{chosen}").execute(options))
