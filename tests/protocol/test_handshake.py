"""The era that begins with `initialize`: what a session remembers, and when."""

import json
from typing import Any

import pytest

from toolhaft.encoding.envelope import whole
from toolhaft.errors import InvalidParams
from toolhaft.protocol.calls import Call, Reply
from toolhaft.protocol.handshake import Session, negotiated
from toolhaft.protocol.peer import Peer, completed, failed
from toolhaft.types.wire import Identity, Implementation, Result


def new_peer(session: Session | None = None) -> Peer:
    return Peer(Implementation(name="tested", version="1"), session=session)


def frame(id_: object, method: str, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    return json.dumps(message).encode()


def initialize(id_: object = 0, revision: str = "2025-11-25", **more: Any) -> bytes:
    return frame(id_, "initialize", protocolVersion=revision, capabilities={}, **more)


def called(event: object) -> Call:
    assert isinstance(event, Call)
    return event


def error_of(event: object) -> dict[str, Any]:
    assert isinstance(event, Reply)
    error: dict[str, Any] = json.loads(event.frame)["error"]
    return error


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
def test_a_revision_is_agreed_on(asked: str, given: str) -> None:
    assert negotiated(asked).date == given


def test_a_session_begins_new() -> None:
    assert Session().state == "new"


def test_initialize_takes_effect_when_it_is_received() -> None:
    peer = new_peer()

    peer.receive(initialize())
    call = peer.receive(frame(1, "tools/list"))  # sent in one go, before any answer

    assert peer.session.state == "opening"
    assert called(call).method == "tools/list"


def test_a_session_is_open_once_initialize_is_answered() -> None:
    peer = new_peer()

    completed(called(peer.receive(initialize())), Result())

    assert peer.session.state == "open"


def test_a_refused_initialize_leaves_the_session_new() -> None:
    peer = new_peer()

    failed(called(peer.receive(initialize())), InvalidParams("not you"))

    assert peer.session.state == "new"
    assert error_of(peer.receive(frame(1, "tools/list")))["code"] == -32602


def test_after_a_refusal_a_client_may_try_again() -> None:
    peer = new_peer()
    failed(called(peer.receive(initialize())), InvalidParams("not you"))

    completed(called(peer.receive(initialize(1, "2025-06-18"))), Result())

    assert peer.session.state == "open"
    assert peer.session.caller.revision.date == "2025-06-18"


@pytest.mark.parametrize("answered", [False, True])
def test_a_second_initialize_is_refused_and_changes_nothing(answered: bool) -> None:
    peer = new_peer()
    first = called(peer.receive(initialize()))
    if answered:
        completed(first, Result())

    error = error_of(peer.receive(initialize(1, "2024-11-05")))

    assert error["code"] == -32600
    assert peer.session.caller.revision.date == "2025-11-25"
    assert peer.session.state == ("open" if answered else "opening")


def test_an_initialize_that_is_not_understood_opens_nothing() -> None:
    peer = new_peer()

    error = error_of(peer.receive(frame(0, "initialize", protocolVersion=5)))

    assert error["code"] == -32602
    assert "protocolVersion" in error["message"]
    assert peer.session.state == "new"


def test_a_request_before_the_handshake_is_told_what_to_send() -> None:
    error = error_of(new_peer().receive(frame(1, "tools/list")))

    assert error["code"] == -32602
    assert "initialize" in error["message"]
    assert "io.modelcontextprotocol/protocolVersion" in error["message"]


def test_a_ping_needs_no_handshake() -> None:
    assert called(new_peer().receive(frame(1, "ping"))).method == "ping"


def test_nobody_minds_how_a_client_adorns_itself() -> None:
    adorned = {"name": "c", "version": "9", "title": None, "icons": [{"src": None}], "x": 1}
    call = called(new_peer().receive(initialize(clientInfo=adorned)))

    assert call.caller.client == Identity(name="c", version="9")


@pytest.mark.parametrize("client", [{"name": "c"}, {"name": None, "version": "9"}, "c"])
def test_a_client_has_a_name_and_a_version(client: Any) -> None:
    error = error_of(new_peer().receive(initialize(clientInfo=client)))

    assert error["code"] == -32602
    assert "clientInfo" in error["message"]


def test_a_session_remembers_who_the_client_is() -> None:
    peer = new_peer()

    data = initialize(clientInfo={"name": "c", "version": "9"})
    call = called(peer.receive(data, principal="alice"))

    assert call.caller.client == Identity(name="c", version="9")
    assert call.caller.principal == "alice"
    assert call.caller is peer.session.caller


def test_a_session_can_outlive_its_peer() -> None:
    session = Session()
    first = new_peer(session)
    completed(called(first.receive(initialize(revision="2025-06-18"))), Result())

    call = called(new_peer(session).receive(frame(1, "tools/list")))

    assert call.caller.revision.date == "2025-06-18"


def test_both_eras_are_served_by_one_peer() -> None:
    peer = new_peer()
    completed(called(peer.receive(initialize(revision="2024-11-05"))), Result())
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }

    old = called(peer.receive(frame(1, "tools/list")))
    new = called(peer.receive(frame(2, "tools/list", _meta=meta)))

    assert (old.caller.revision.date, new.caller.revision.date) == ("2024-11-05", "2026-07-28")


def test_only_the_stateless_era_stamps_its_results() -> None:
    peer = new_peer()
    opening = completed(called(peer.receive(initialize())), Result())
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    call = called(peer.receive(frame(2, "tools/list", _meta=meta)))

    assert opening == b'{"jsonrpc":"2.0","id":0,"result":{}}'
    assert json.loads(whole(completed(call, Result())))["result"] == {
        "resultType": "complete",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "tested", "version": "1"}},
    }
