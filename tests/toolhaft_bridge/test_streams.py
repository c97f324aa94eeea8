"""The standard streams of a bridge, whose client does not read or is gone."""

import pytest
from tests.attaching.fixtures import Start
from tests.attaching.living import MUCH, STAY, until
from tests.processes.process import HANDSHAKE, request, text_of, tool_call
from tests.toolhaft_bridge.bridges import unread

both_ways = pytest.mark.usefixtures("way")


@both_ways
def test_a_client_that_does_not_read_is_waited_for_in_bounded_memory(
    program: Start, bridge: Start
) -> None:
    living = program(MUCH)
    client = bridge("notes", opened=False, reading=False)
    client.send(*HANDSHAKE, *(tool_call(n, "much") for n in range(100)))
    other = bridge("notes")
    assert text_of(other.ask_tool(1, "write", text="a")) == "1"
    before = client.memory("VmRSS"), living.memory("VmRSS")
    client.start_reading()
    for n in range(100):
        assert len(text_of(client.answer(n)["result"])) == 1_000_000

    assert before[0] < 40_000_000
    assert before[1] < 150_000_000
    assert client.memory() < 50_000_000


@both_ways
def test_a_reader_may_leave_while_there_is_more(program: Start, bridge: Start) -> None:
    program(MUCH)
    client = bridge("notes", opened=False, reading=False)
    client.send(*HANDSHAKE, *(tool_call(n, "much") for n in range(3)))
    until(lambda: unread(client._popen.stdout) > 60_000)
    client.close_output()

    assert client.ends() == 0
    assert client.stderr == ""


@both_ways
def test_when_nobody_reads_any_more_the_bridge_ends(program: Start, bridge: Start) -> None:
    program(STAY)
    client = bridge("notes", opened=False, reading=False)
    client.close_output()
    client.send(request(1, "ping"))

    assert client.ends() == 0
