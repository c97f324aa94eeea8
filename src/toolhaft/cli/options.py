"""The arguments of all sub-commands. Imports nothing slow, so that `--help` is fast."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from .option_values import LISTS, count, header, list_name, seconds, variable

_ARGUMENTS = """\
arguments:
  name=text      read as the parameter's type says: text, a number, true, null, a list, JSON
  name:=json     always JSON
  name=@file     the text of a file; name:=@file for JSON
  '{"name": 1}'  several arguments, as a JSON object; - reads one from stdin
"""
_STATUSES = """\
exit status: 0 done, 2 wrong command line or target, 4 refused by the server or no answer in time,
5 the tool failed, 130 interrupted
"""


_INSTALL_STATUSES = """\
exit status: 0 done, 2 wrong command line or target, 3 a configuration cannot be changed, 4 the
server does not answer, 130 interrupted
"""


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--framing",
        choices=("auto", "lines", "content-length"),
        default="auto",
        help="how messages are told apart (default: as the client does)",
    )
    parser.add_argument(
        "--directory", metavar="DIR", help="work in this folder, also to find modules"
    )
    parser.add_argument(
        "--log-traffic",
        metavar="FILE",
        help="add every message to this file, as JSON lines (default: the file that TOOLHAFT_LOG "
        "names, if it is set)",
    )
    _over_http(parser.add_argument_group("over HTTP"))


def _over_http(http: Any) -> None:
    """Add the options for serving over HTTP to their argument group."""
    http.add_argument(
        "--http", metavar="HOST:PORT", help="serve any number of clients over HTTP, at this address"
    )
    http.add_argument("--uds", metavar="PATH", help="the same at a Unix socket")
    http.add_argument("--path", default="/mcp", help="where on that address (default: /mcp)")
    http.add_argument(
        "--workers", type=count, default=1, metavar="N", help="how many processes serve"
    )
    http.add_argument(
        "--sessions",
        choices=("auto", "stateful", "stateless"),
        default="auto",
        help="whether clients that begin with initialize get a session (default: auto)",
    )
    http.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="answer to this name too; * to any",
    )
    http.add_argument(
        "--allow-origin",
        metavar="ORIGIN",
        action="append",
        default=[],
        help="let pages of this origin use the server",
    )
    http.add_argument(
        "--tls", nargs=2, metavar=("CERTIFICATE", "KEY"), help="files for https, in PEM"
    )
    http.add_argument(
        "--no-guard", action="store_true", help="serve although the guard of the file is not used"
    )
    http.add_argument(
        "--legacy-sse",
        action="store_true",
        help="serve the transport of the oldest revision too",
    )
    http.add_argument(
        "--metrics", action="store_true", help="offer metrics for Prometheus, at /metrics"
    )
    http.add_argument(
        "--runner", choices=("uvicorn", "granian"), default="uvicorn", help="what speaks HTTP"
    )


def _list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "only",
        metavar="WHAT",
        nargs="*",
        default=[],  # without a default, argparse shows it as required
        type=list_name,
        help=f"{', '.join(LISTS)} (default: all of them)",
    )
    _connection(parser)
    parser.set_defaults(answer=[], raw=False)


def _call(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "tool", metavar="TOOL", nargs="?", help="the name of the tool; without it, all are named"
    )
    _arguments(parser, "see below")
    _connection(parser)
    _answers(parser)
    _output(parser, "write the first image, sound or blob to a file, or else the text")
    _raw(parser)


def _read(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("uri", metavar="URI", help="the URI of the resource")
    _connection(parser)
    _answers(parser)
    _output(parser, "write what was read to a file")
    _raw(parser)


def _prompt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name of the prompt")
    _arguments(parser, "name=text or name=@file; name=a name=b for a list")
    _connection(parser)
    _answers(parser)
    _raw(parser)


def _check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument(
        "--level",
        choices=("error", "warning", "note"),
        default="note",
        help="show only what is as bad as this (default: note, which is all)",
    )
    parser.add_argument(
        "--call",
        action="store_true",
        help="also call the tools that are read-only and need no arguments, read the resources "
        "and get the prompts, and look at what comes",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="give up after so long (default: 60)",
    )


def _contract(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="what the server is to list; JSON")
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--update", action="store_true", help="write the file as things are now, whatever changed"
    )
    group.add_argument(
        "--check", action="store_true", help="fail on every change, also if it breaks nobody"
    )
    parser.add_argument("--json", action="store_true", help="print the changes as JSON")
    _timeout(parser)
    _headers(parser)
    parser.set_defaults(attach=None, revision=None, answer=[], raw=False)


def _install(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="CLIENT … TARGET",
        nargs="*",
        default=[],
        help="into which clients (toolhaft clients names them), and the server: file.py, "
        "file.py:name, module or module:name",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--attach", metavar="NAME", help="instead of a target: a process that attaches by this name"
    )
    what.add_argument("--http", metavar="URL", help="instead of a target: a server elsewhere")
    parser.add_argument("--name", help="of the entry (default: the name of the server)")
    parser.add_argument(
        "--env",
        metavar="K=V",
        action="append",
        default=[],
        type=variable,
        help="a variable for the server; once for each",
    )
    parser.add_argument("--directory", metavar="DIR", help="let the server work in this folder")
    _change_options(parser)
    parser.add_argument("--force", action="store_true", help="replace an entry of the same name")
    parser.add_argument(
        "--no-check", action="store_true", help="do not start the server to see whether it answers"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        default=30.0,
        help="how long it may take to answer (default: 30)",
    )


def _uninstall(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="CLIENT … NAME",
        nargs="*",
        default=[],
        help="out of which clients, and the name of the entry",
    )
    _change_options(parser)
    parser.add_argument(
        "--force", action="store_true", help="remove it even if it is not of toolhaft's making"
    )


def _clients(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print all that is known, as JSON")


def _change_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all", action="store_true", help="instead of clients: all that are on this machine"
    )
    parser.add_argument(
        "--scope",
        choices=("user", "project"),
        default="user",
        help="for you everywhere, or for all who work in this folder (default: user)",
    )
    parser.add_argument(
        "--via",
        choices=("auto", "command", "file"),
        default="auto",
        help="by the client's own command, or by its file (default: its command if it is there)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would change, and change nothing"
    )


def _attach(parser: argparse.ArgumentParser) -> None:
    """Add options for the help only: `toolhaft_bridge.command` parses them without argparse."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="as toolhaft ps shows it")
    parser.add_argument("--socket", metavar="PATH", help="a socket instead of a name")
    parser.add_argument(
        "--wait",
        nargs="?",
        metavar="SECONDS",
        help="wait so long for the process to appear, or to come back after its end; without a "
        "number, for ever (default: 0 at first, then 10)",
    )
    parser.add_argument(
        "--init",
        metavar="MODULE:FUNCTION",
        help="call this in the process before the first message",
    )
    parser.add_argument(
        "--stop", metavar="MODULE:FUNCTION", help="call this in the process at the end"
    )
    parser.add_argument(
        "--log", metavar="FILE", help="record all messages there (default: $TOOLHAFT_LOG)"
    )


def _ps(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def _metrics(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "where",
        metavar="NAME|URL",
        help="a process that is attached, as toolhaft ps names it; or where a server runs with "
        "--metrics, as in 127.0.0.1:8000",
    )
    parser.add_argument(
        "--reset", action="store_true", help="print them, and let the server begin to count anew"
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print the numbers as JSON")
    shape.add_argument("--text", action="store_true", help="print what Prometheus reads")
    _headers(parser, "send this header, as a guard may ask for; once for each")


def _arguments(parser: argparse.ArgumentParser, help_: str) -> None:
    # Without a default, argparse shows them as required.
    parser.add_argument("arguments", metavar="ARG", nargs="*", default=[], help=help_)


def _connection(parser: argparse.ArgumentParser) -> None:
    from ..protocol.revisions import SUPPORTED  # noqa: PLC0415

    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument(
        "--revision",
        choices=SUPPORTED,
        metavar="DATE",
        help=f"speak this revision of the protocol: {', '.join(SUPPORTED)} (default: the newest "
        "that the server speaks)",
    )
    _timeout(parser)
    parser.add_argument(
        "--attach",
        metavar="NAME",
        help="instead of TARGET: a process that is attached by this name",
    )
    _headers(parser)


def _answers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--answer",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="answer a field that the server asks for; or a whole question, by a JSON object, "
        "accept, decline or cancel; show shows it",
    )


def _headers(
    parser: argparse.ArgumentParser,
    help_: str = "send this header to a server at a URL; once for each",
) -> None:
    parser.add_argument(
        "--header", metavar="NAME:VALUE", action="append", default=[], type=header, help=help_
    )


def _timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout", type=seconds, metavar="SECONDS", help="cancel what takes longer"
    )


def _output(parser: argparse.ArgumentParser, help_: str) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help=help_)


def _raw(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--raw", action="store_true", help="also on a terminal, show control characters as they are"
    )


# By name: summary, function that adds the arguments other than TARGET, and text below the help.
COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None], str]] = {
    "run": (
        "serve a file or module over stdio or HTTP",
        _run,
        "example:\n  toolhaft run server.py\n  toolhaft run server.py --http 127.0.0.1:8000\n",
    ),
    "list": (
        "show the tools, resources and prompts of a server",
        _list,
        f"example:\n  toolhaft list server.py tools\n  toolhaft list http://127.0.0.1:8000/mcp\n\n{_STATUSES}",
    ),
    "call": (
        "call a tool",
        _call,
        f"{_ARGUMENTS}\nexample:\n  toolhaft call server.py add a=1 b=2\n"
        f"  toolhaft call --attach counter add a=1 b=2\n\n{_STATUSES}",
    ),
    "read": (
        "read a resource",
        _read,
        f"example:\n  toolhaft read server.py notes://all\n\n{_STATUSES}",
    ),
    "prompt": (
        "show the messages of a prompt",
        _prompt,
        f"example:\n  toolhaft prompt server.py review diff=@change.diff\n\n{_STATUSES}",
    ),
    "check": (
        "review a server before its release",
        _check,
        "example:\n  toolhaft check server.py\n  toolhaft check server.py --level error\n\n"
        "exit status: 0 no errors, 1 errors, 2 wrong command line or target\n",
    ),
    "contract": (
        "tell which changes to a server break its clients",
        _contract,
        "example:\n  toolhaft contract server.py server.lock\n\n"
        "exit status: 0 the same, or nothing that breaks clients; 1 something that does; 2 wrong "
        "command\nline, target or file\n",
    ),
    "install": (
        "put a server into the configuration of clients",
        _install,
        "example:\n  toolhaft install cursor claude-code server.py\n"
        f"  toolhaft install zed --attach notes\n\n{_INSTALL_STATUSES}",
    ),
    "uninstall": (
        "take a server out of the configuration of clients",
        _uninstall,
        "example:\n  toolhaft uninstall cursor claude-code notes\n\n"
        "exit status: 0 done, 2 wrong command line, 3 a configuration cannot be changed, 130 "
        "interrupted\n",
    ),
    "clients": (
        "show the clients that are known, and what is installed in them",
        _clients,
        "example:\n  toolhaft clients --json\n",
    ),
    "attach": (
        "be the stdio server of a client, for a process that has called server.attach()",
        _attach,
        "example:\n  toolhaft attach notes\n  toolhaft attach notes --wait 30 --log notes.log\n\n"
        "exit status: 0 done, 2 wrong command line or no such process, 3 the process has ended, 4 "
        "the\nprocess refuses, 130 interrupted\n",
    ),
    "ps": ("list the processes that are attached", _ps, "example:\n  toolhaft ps\n"),
    "metrics": (
        "show what a running server was asked for",
        _metrics,
        "example:\n  toolhaft metrics http://127.0.0.1:8000\n\n"
        "exit status: 0 done, 2 wrong command line, 4 no metrics to be had there\n",
    ),
}
_WITHOUT_TARGET = ("install", "uninstall", "clients", "attach", "ps", "metrics")
# Commands that take `--attach NAME` instead of TARGET.
_TAKE_ATTACH = ("list", "call", "read", "prompt")
# Commands whose TARGET may be a URL.
_TAKE_URLS = (*_TAKE_ATTACH, "contract")


def add_parser(commands: Any, name: str) -> argparse.ArgumentParser:
    """Add the parser of a command without its arguments, which is enough for `toolhaft --help`."""
    summary, _, epilog = COMMANDS[name]
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def add_arguments(parser: argparse.ArgumentParser, name: str, given: Sequence[str]) -> None:
    """Add the arguments of a command to its parser.

    Args:
        given: the words that the parser will read.
    """
    _, configure, _ = COMMANDS[name]
    if name in _TAKE_ATTACH and _is_attached(given):
        parser.set_defaults(target=None)
    elif name not in _WITHOUT_TARGET:
        elsewhere = "http:// or https:// and where a server runs; or " if name in _TAKE_URLS else ""
        parser.add_argument(
            "target",
            metavar="TARGET",
            help=f"{elsewhere}file.py, file.py:name, module or module:name; the name is a Server "
            "(for run, also a Listener) or a function that makes one, and may be left out if there "
            "is only one Server or one is named `server`; or a folder whose pyproject.toml says it "
            "([tool.toolhaft] server)",
        )
    configure(parser)


def _is_attached(given: Sequence[str]) -> bool:
    """Test for `--attach` among the words; argparse also accepts it abbreviated."""
    options = given[: given.index("--")] if "--" in given else given
    flags = (word.partition("=")[0] for word in options if word.startswith("--a"))
    return any("--attach".startswith(flag) for flag in flags)
