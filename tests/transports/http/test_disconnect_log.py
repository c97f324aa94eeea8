"""Clients that are cut off are told of in the log, however many there are."""

import pytest

from toolhaft.transports.http.disconnect_log import CutOffs


def test_a_client_is_named_with_its_address_and_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    CutOffs().tell("it does not read", ("127.0.0.1", 4711))

    assert caplog.messages == ["the client 127.0.0.1:4711 was cut off: it does not read"]


def test_many_clients_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    cut_offs = CutOffs(lambda: now)
    for _ in range(1000):
        cut_offs.tell("it does not read")
    now = 1.0
    cut_offs.tell("it does not send")
    now = 2.0
    cut_offs.tell("it does not send")

    assert caplog.messages == [
        "a client was cut off: it does not read",
        "a client was cut off: it does not send; 999 more since the last message of this kind",
        "a client was cut off: it does not send",
    ]
