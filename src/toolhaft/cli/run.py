"""`toolhaft run TARGET`: serve a file or module to one client over stdio."""

import argparse
import sys

from ..run import run_stdio
from ..runtime import descriptors
from .target import BadTarget, load


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="file.py, file.py:name, module or module:name; the name is a Server or a function "
        "that makes one, and may be left out if there is only one Server",
    )
    parser.add_argument(
        "--framing",
        choices=("auto", "lines", "content-length"),
        default="auto",
        help="how messages are told apart (default: as the client does)",
    )


def execute(options: argparse.Namespace) -> int:
    """Serve until the client ends its side."""
    # Before any code of the author's runs: what it prints must not reach the client.
    try:
        descriptors.take()
        server = load(options.target)
    except (BadTarget, OSError) as error:
        print(f"toolhaft: {error}", file=sys.stderr)
        return 2
    run_stdio(server, options.framing, last=True)
    return 0
