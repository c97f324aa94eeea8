"""Where the server of a command is: in a file or module, at a URL, or in an attached process."""

import argparse
from typing import NamedTuple

from ...client.attached import Attached, is_attached
from ...client.failures import Refused
from ...client.http.sockets import Sockets
from ...client.http.streamable import Http
from ...client.memory import InMemory
from ...client.transport import Transport
from ..option_values import joined_headers
from ..target import BadTarget, NoModule, load

# How long an interrupted request elsewhere may take to be taken back.
_GRACE = 2.0
_EXAMPLE = "http://127.0.0.1:8000/mcp"
_HTTP = ("http://", "https://")
_UNAUTHORIZED = 401
_NOT_FOUND = 404


class Place(NamedTuple):
    """A server that can be talked to."""

    transport: Transport
    # How long it may take to end, in seconds.
    grace: float
    # Do headers repeat arguments, which takes the schema of a tool to know?
    is_http: bool = False


def place_of(options: argparse.Namespace) -> Place:
    """The server that a command line names.

    Raises:
        BadTarget: there is none.
    """
    headers = joined_headers(options.header)
    if options.attach is None and options.target.lower().startswith(_HTTP):
        try:
            return Place(Http(Sockets(options.target), headers), _GRACE, is_http=True)
        except ValueError as error:
            raise BadTarget(f"{options.target!r} is no URL of a server: {error}") from None
    if headers:
        raise BadTarget(f"--header is for servers at a URL, as in {_EXAMPLE}")
    if options.attach is not None:
        return Place(Attached(options.attach), _GRACE)
    return _loaded(options.target)


def _loaded(target: str) -> Place:
    if "://" in target:
        raise BadTarget(f"{target!r} is a URL of no kind we know; they begin with http or https")
    try:
        server = load(target)
    except BadTarget as error:
        if not is_attached(target):
            raise _with_url(error) from error.__cause__
        raise BadTarget(
            f"{error}; a process named {target!r} is attached, and --attach {target} reaches it"
        ) from error
    return Place(InMemory(server), server.limits.shutdown_seconds)


def _with_url(error: BadTarget) -> BadTarget:
    """What can be talked to need not be a file."""
    if not isinstance(error, NoModule):
        return error
    return BadTarget(f"{error}, and a server that runs by its URL, as in {_EXAMPLE}")


def told(error: Refused, options: argparse.Namespace) -> str:
    """A refusal over HTTP, and what may help."""
    message = str(error).rstrip().removesuffix(":")
    names = {name.lower() for name, _ in options.header}
    if error.status == _UNAUTHORIZED and "authorization" in names:
        return f"{message}; it does not take the Authorization that --header gave"
    if error.status == _UNAUTHORIZED:
        return f"{message}; give --header 'Authorization: …'"
    if error.status == _NOT_FOUND:
        return f"{message}; is the path right? Often it is /mcp"
    return message
