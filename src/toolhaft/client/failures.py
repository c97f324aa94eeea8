"""What may go wrong with a server, as its client sees it. Errors of JSON-RPC are `McpError`."""

from ..errors import McpError


class NoAnswer(TimeoutError):
    """An answer did not come in time; the message says to what, and what was heard instead."""


class ClientRefused(McpError):
    """This client refuses a question where it cannot tell the server so, and leaves the call.

    In a session the server gets an error; in 2026-07-28 a refusal is no answer to a question.
    """


class ServerGone(ConnectionError):
    """The server has ended, or cannot be reached."""


class BadAnswer(Exception):
    """The server has sent what the protocol does not allow."""


class Refused(ServerGone):
    """An HTTP server has refused a request, with a status and without a JSON-RPC error."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
