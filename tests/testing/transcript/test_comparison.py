"""Messages that are faulty whatever a transcript expects."""

import pytest

from toolhaft.testing.transcript.comparison import decode, fault_of

FAULTY = {
    "no JSON-RPC": '{"id": 1, "result": {}}',
    "no message": '{"jsonrpc": "2.0", "id": 1}',
    "two messages in one": '{"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}',
    "a request": '{"jsonrpc": "2.0", "id": 1, "method": "roots/list"}',
    "an id that is null": '{"jsonrpc": "2.0", "id": null, "error": {}}',
    "a member that is null": '{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"title": null}]}}',
    "data that is null": '{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "data": null}}',
    "an empty batch": "[]",
    "a batch with a fault": '[{"jsonrpc": "2.0", "id": 1}]',
}


@pytest.mark.parametrize("line", FAULTY.values(), ids=FAULTY.keys())
def test_a_faulty_message_is_found_out_without_a_transcript(line: str) -> None:
    assert fault_of(decode(line.encode()))


LOOSE = {
    "duplicate keys": b'{"id": 1, "id": 1}',
    "NaN is not JSON": b"NaN",
    "codec can't decode": b'"\xff"',
    "Expecting value": b"hello",
}


@pytest.mark.parametrize(("complaint", "line"), LOOSE.items(), ids=LOOSE.keys())
def test_a_line_that_is_not_strict_json_is_found_out(complaint: str, line: bytes) -> None:
    with pytest.raises(ValueError, match=complaint):
        decode(line)
