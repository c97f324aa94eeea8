"""What a client says of itself: in each request, or once in a handshake."""

from ..protocol.revisions import Revision
from .json_shapes import Json

_PREFIX = "io.modelcontextprotocol/"
VERSION = _PREFIX + "protocolVersion"
CAPABILITIES = _PREFIX + "clientCapabilities"
CLIENT_INFO = _PREFIX + "clientInfo"
LOG_LEVEL = _PREFIX + "logLevel"
SUBSCRIPTION = _PREFIX + "subscriptionId"
# Everything that a server may ask for.
ALL_CAPABILITIES: Json = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}},
    "roots": {},
}


def envelope(revision: Revision, capabilities: Json, info: Json, level: str | None = None) -> Json:
    """The `_meta` of a request; nothing where a handshake has said it."""
    if revision.handshake:
        return {}
    said = {VERSION: revision.date, CAPABILITIES: known(capabilities, revision), CLIENT_INFO: info}
    return said if level is None else {**said, LOG_LEVEL: level}


def opening(revision: Revision, capabilities: Json, info: Json) -> Json:
    """The params of `initialize`."""
    return {
        "protocolVersion": revision.date,
        "capabilities": known(capabilities, revision),
        "clientInfo": info,
    }


def known(capabilities: Json, revision: Revision) -> Json:
    """Capabilities as this revision has them: without those that came later."""
    found, askable = dict(capabilities), revision.askable
    if "sampling" in found and "sampling.tools" not in askable:
        found["sampling"] = {key: each for key, each in found["sampling"].items() if key != "tools"}
    if "elicitation" in found and "elicitation.url" not in askable:
        offered = found.pop("elicitation")
        if "elicitation.form" in askable and ("form" in offered or not offered):
            found["elicitation"] = {}
    return found
