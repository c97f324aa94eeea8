"""What may go wrong with a server, as its client sees it. Errors of JSON-RPC are `McpError`."""


class NoAnswer(TimeoutError):
    """An answer did not come in time; the message says to what, and what was heard instead."""


class ServerGone(ConnectionError):
    """The server has ended, or cannot be reached."""


class BadAnswer(Exception):
    """The server has sent what the protocol does not allow."""


class Refused(ServerGone):
    """An HTTP server has refused a request, with a status and without a JSON-RPC error."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
