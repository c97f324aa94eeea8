"""What may stand on the command line. Nothing here is slow to import, so help comes at once."""

import argparse
import math
from collections.abc import Callable
from typing import Any

from ..protocol.revisions import SUPPORTED

LISTS = ("tools", "resources", "templates", "prompts")

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


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--framing",
        choices=("auto", "lines", "content-length"),
        default="auto",
        help="how messages are told apart (default: as the client does)",
    )
    parser.add_argument(
        "--log-traffic",
        metavar="FILE",
        help="add every message to this file, as JSON lines (default: the file that TOOLHAFT_LOG "
        "names, if it is set)",
    )
    http = parser.add_argument_group("over HTTP")
    http.add_argument(
        "--http", metavar="HOST:PORT", help="serve any number of clients over HTTP, at this address"
    )
    http.add_argument("--uds", metavar="PATH", help="the same at a Unix socket")
    http.add_argument("--path", default="/mcp", help="where on that address (default: /mcp)")
    http.add_argument(
        "--workers", type=_count, default=1, metavar="N", help="how many processes serve"
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


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"a number from 1 to 1000, not {text!r}")
    return int(text)


def _list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "only",
        metavar="WHAT",
        nargs="*",
        default=[],  # without a default, argparse calls it required
        type=_list_name,
        help=f"{', '.join(LISTS)} (default: all of them)",
    )
    _conversation(parser)


def _call(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tool", metavar="TOOL", help="the name of the tool")
    _words(parser, "see below")
    _conversation(parser)
    _output(parser, "write the first image, sound or blob to a file, or else the text")


def _read(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("uri", metavar="URI", help="the URI of the resource")
    _conversation(parser)
    _output(parser, "write what was read to a file")


def _prompt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name of the prompt")
    _words(parser, "name=text or name=@file; name=a name=b for a list")
    _conversation(parser)


def _metrics(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "where", metavar="URL", help="where a server runs with --metrics, as in 127.0.0.1:8000"
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print the numbers as JSON")
    shape.add_argument("--text", action="store_true", help="print what Prometheus reads")
    parser.add_argument(
        "--header",
        metavar="NAME:VALUE",
        action="append",
        default=[],
        help="send this header, as a guard may ask for",
    )


def _words(parser: argparse.ArgumentParser, help_: str) -> None:
    # Without a default, argparse calls them required.
    parser.add_argument("arguments", metavar="ARG", nargs="*", default=[], help=help_)


def _conversation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument(
        "--revision",
        choices=SUPPORTED,
        default=SUPPORTED[0],
        metavar="DATE",
        help=f"speak this revision of the protocol: {', '.join(SUPPORTED)} (default: the newest)",
    )
    parser.add_argument(
        "--timeout", type=_seconds, metavar="SECONDS", help="cancel what takes longer"
    )


def _output(parser: argparse.ArgumentParser, help_: str) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help=help_)


def _list_name(text: str) -> str:
    if text not in LISTS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(LISTS)}")
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise argparse.ArgumentTypeError(f"a number of seconds above 0, not {text!r}")
    return seconds


# Each with its summary, what it takes beside the target, and what follows its help.
COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None], str]] = {
    "run": (
        "serve a file or module over stdio or HTTP",
        _run,
        "example:\n  toolhaft run server.py\n  toolhaft run server.py --http 127.0.0.1:8000\n",
    ),
    "list": (
        "show the tools, resources and prompts of a server",
        _list,
        f"example:\n  toolhaft list server.py tools\n\n{_STATUSES}",
    ),
    "call": (
        "call a tool",
        _call,
        f"{_ARGUMENTS}\nexample:\n  toolhaft call server.py add a=1 b=2\n\n{_STATUSES}",
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
    "metrics": (
        "show what a running server was asked for",
        _metrics,
        "example:\n  toolhaft metrics http://127.0.0.1:8000\n\n"
        "exit status: 0 done, 2 wrong command line, 4 no metrics to be had there\n",
    ),
}
# They are about processes that run already.
_WITHOUT_TARGET = ("metrics",)


def declare(commands: Any, name: str) -> argparse.ArgumentParser:
    """Add the parser of a command to the others."""
    summary, configure, epilog = COMMANDS[name]
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if name not in _WITHOUT_TARGET:
        parser.add_argument(
            "target",
            metavar="TARGET",
            help="file.py, file.py:name, module or module:name; the name is a Server (for run, "
            "also a Listener) or a function that makes one, and may be left out if there is only "
            "one Server",
        )
    configure(parser)
    return parser
