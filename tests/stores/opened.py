"""Sessions that were opened, and are recalled."""

import json
from typing import Any

from toolhaft.protocol.calls import Call
from toolhaft.protocol.handshake import Session
from toolhaft.protocol.peer import Peer, completed
from toolhaft.types.wire import Implementation, Result


def opened(
    revision: str = "2025-11-25", principal: str | None = None, **capabilities: Any
) -> Session:
    """A session whose handshake is done."""
    peer = Peer(Implementation(name="s", version="1"), session=Session("abc"))
    params = {
        "protocolVersion": revision,
        "capabilities": capabilities,
        "clientInfo": {"name": "tester", "version": "2"},
    }
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    call = peer.receive(json.dumps(message).encode(), principal)
    assert isinstance(call, Call)
    completed(call, Result())
    return peer.session


def again(session: Session) -> Session:
    return Session.recalled("abc", session.remember())
