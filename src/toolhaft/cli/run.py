"""`toolhaft run TARGET`: serve a file or module to one client over stdio."""

import argparse
import sys

from ..run import run_stdio
from ..runtime import descriptors
from .target import BadTarget, load


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
