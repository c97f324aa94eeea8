"""How clients greet a server over stdio."""

import json

OPENING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def written(*messages: object) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)
