"""Conversion of exceptions to the errors sent to clients."""

import logging
from collections.abc import Callable

from ..errors import InternalError, McpError, ToolError
from ..protocol.calls import Call
from ..protocol.error_codes import sendable
from .call import call_label

log = logging.getLogger(__name__)

Mask = Callable[[str, BaseException], str]


def masked(call: Call, error: BaseException, mask: Mask) -> McpError:
    """Return the error to send to the client; `mask` words exceptions with internal details."""
    if isinstance(error, ToolError):  # of a resource or a prompt: its text is for the client
        return InternalError(error.message)
    if not isinstance(error, McpError):
        return InternalError(mask(call_label(call), error))
    revision = call.caller.revision
    sent = sendable(error, revision)
    if sent.code != error.code:
        log.warning(
            "%s: a server may not send the code %r to a client of %s, which gets %d instead; "
            "use a code outside of -32768 to -32000",
            call_label(call), error.code, revision.date, sent.code,
        )  # fmt: skip
    return sent
