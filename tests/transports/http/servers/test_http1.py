"""Requests that are too long, too odd, too slow or said twice: refused, and nobody else notices."""

import json
import os
from collections.abc import Iterator

import pytest
from tests.transports.http.servers.conftest import Serve
from tests.transports.http.servers.web import (
    MIB,
    Connection,
    Site,
    calls,
    head,
    lines,
    posted,
    posting,
)

SERVED = """
server = Server("tested", version="1.0.0", limits=Limits(stall_seconds=0.5, head_seconds=0.5))
ran = []

@server.tool
def run() -> int:
    ran.append(1)
    return len(ran)

@server.tool
def runs() -> int:
    return len(ran)

@server.tool
def size(text: str) -> int:
    return len(text)

@server.tool
async def report(text: str, ctx: Context) -> int:
    await ctx.progress(1)
    await asyncio.sleep(0.01)  # so that it is a stream
    return len(text)
"""
RUN = posting(calls("run"))
ROUTING = [
    "Host", "Origin", "Authorization", "Content-Type", "MCP-Protocol-Version", "Mcp-Method",
    "Mcp-Name", "Mcp-Session-Id", "Last-Event-ID",
]  # fmt: skip


@pytest.fixture(scope="module")
def site(serve_all: Serve) -> Site:
    """A server that has little patience."""
    return serve_all(SERVED)


@pytest.fixture
def still_serves(site: Site) -> Iterator[None]:
    """Afterwards others are served, and nothing was said that looks like a bug."""
    yield
    assert site.call("size", text="four") == "4"
    assert "Traceback" not in site.stderr


def chunk(data: bytes) -> bytes:
    """A part of a body whose length was not said."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def chunked_head(message: object, **more: str) -> bytes:
    """The head of a POST whose length is not said."""
    return head("POST", "/mcp", {**posted(message, more), "Transfer-Encoding": "chunked"})


def fields_of(message: object) -> list[str]:
    """The headers of a POST, as lines."""
    return [f"{name}: {value}" for name, value in posted(message).items()]


# Too long


@pytest.mark.usefixtures("still_serves")
def test_a_body_that_is_said_to_be_too_long_is_refused_before_it_is_sent(site: Site) -> None:
    fields = {**posted(calls("run")), "Content-Length": str(4 * MIB + 1)}

    with site.connect() as connection:
        connection.send(head("POST", "/mcp", fields))
        answer = connection.answer()

        assert answer.status == 413
        assert "4194304" in answer.error
        assert answer.headers["connection"] == "close"
        assert connection.is_closed()


@pytest.mark.usefixtures("still_serves")
def test_who_asks_before_it_sends_too_much_is_not_told_to_go_on(site: Site) -> None:
    fields = {**posted(calls("run")), "Content-Length": "100000000", "Expect": "100-continue"}

    with site.connect() as connection:
        connection.send(head("POST", "/mcp", fields))
        first = connection.rest()

    assert first.startswith(b"HTTP/1.1 413")


@pytest.mark.usefixtures("still_serves")
def test_who_asks_before_it_sends_is_told_to_go_on(site: Site) -> None:
    with site.connect() as connection:
        message = json.dumps(calls("size", text="abc")).encode()
        fields = posted(calls("size", text="abc"), {"Expect": "100-continue"})
        connection.send(head("POST", "/mcp", {**fields, "Content-Length": str(len(message))}))
        assert connection.socket.recv(12) == b"HTTP/1.1 100"
        connection.send(message)
        connection.socket.recv(len(b" Continue\r\n\r\n"))

        assert connection.answer().text == "3"


def message_of(size: int) -> bytes:
    """A call whose message has this many bytes."""
    without = json.dumps(calls("size", text="")).encode()
    return json.dumps(calls("size", text="x" * (size - len(without)))).encode()


@pytest.mark.usefixtures("still_serves")
def test_a_body_of_just_the_limit_is_read(site: Site) -> None:
    message = message_of(4 * MIB)
    assert len(message) == 4 * MIB

    answer = site.post(message, posted(calls("size")))

    assert int(answer.text) > 4_000_000


@pytest.mark.usefixtures("still_serves")
def test_a_body_of_just_the_limit_is_read_in_parts_too(site: Site) -> None:
    message = message_of(4 * MIB)

    with site.connect() as connection:
        connection.send(chunked_head(calls("size")))
        for start in range(0, len(message), 100_000):
            connection.send(chunk(message[start : start + 100_000]))
        connection.send(b"0\r\n\r\n")
        answer = connection.answer()

    assert int(answer.text) > 4_000_000


@pytest.mark.usefixtures("still_serves")
def test_a_body_in_parts_is_refused_once_it_is_too_long(site: Site) -> None:
    with site.connect() as connection:
        connection.send(chunked_head(calls("size")))
        for _ in range(5):
            connection.send(chunk(b"x" * MIB))
        answer = connection.answer()

        assert answer.status == 413
        assert connection.is_closed()


@pytest.mark.usefixtures("still_serves")
@pytest.mark.parametrize("size", [16, 16384, MIB], ids=["tiny parts", "parts", "large parts"])
def test_a_body_without_end_is_not_kept(site: Site, size: int) -> None:
    site.call("size", text="warm")
    part = chunk(b" " * size) * max(1, 65536 // size)

    with site.connect() as connection:
        connection.send(chunked_head(calls("size")))
        parts = (part for _ in range(64 * MIB // len(part)))
        grown = site.growth(lambda: connection.send_until_refused(parts))

        assert connection.is_closed()
    assert grown < 24 * MIB


# Where a request ends


SECOND = posting(calls("run")).decode()
AMBIGUOUS = {
    "both lengths": ["Content-Length: 5", "Transfer-Encoding: chunked"],
    "both lengths, the other way": ["Transfer-Encoding: chunked", "Content-Length: 5"],
    "two lengths": ["Content-Length: 5", "Content-Length: 6"],
    "the same length twice": ["Content-Length: 5", "Content-Length: 5"],
    "a list of lengths": ["Content-Length: 5, 5"],
    "a length with a sign": ["Content-Length: +5"],
    "a negative length": ["Content-Length: -5"],
    "a length in hexadecimal": ["Content-Length: 0x5"],
    "a length that is no number": ["Content-Length: five"],
    "a length of many digits": ["Content-Length: " + "9" * 30],
    "an unknown coding": ["Transfer-Encoding: gzip"],
    "chunked not last": ["Transfer-Encoding: chunked, identity"],
    "chunked twice": ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
    "chunked, misspelt": ["Transfer-Encoding: xchunked"],
    "a blank before the colon": ["Transfer-Encoding : chunked"],
    "a folded line": ["X-Folded: a", " b", "Transfer-Encoding: chunked"],
    "a header without a name": [": chunked", "Content-Length: 5"],
    "a NUL in a header": ["X-Nul: a\0b", "Content-Length: 5"],
}


@pytest.mark.usefixtures("still_serves")
@pytest.mark.parametrize("ambiguous", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_nothing_is_run_of_what_follows_a_request_whose_end_is_unclear(
    site: Site, ambiguous: list[str]
) -> None:
    before = site.call("runs")
    own = [field for field in fields_of(calls("run")) if not field.startswith("Content-Length")]

    with site.connect() as connection:
        connection.send_until_refused(
            iter([lines("POST /mcp HTTP/1.1", *own, *ambiguous) + b"0\r\n\r\n" + RUN])
        )
        answers = connection.rest()

    statuses = [line for line in answers.splitlines() if line.startswith(b"HTTP/1.1")]
    assert len(statuses) <= 1
    assert all(status.startswith(b"HTTP/1.1 4") for status in statuses)
    assert site.call("runs") == before


BROKEN_CHUNKS = {
    "no number": b"zz\r\nabc\r\n",
    "a sign": b"+3\r\nabc\r\n",
    "a prefix": b"0x3\r\nabc\r\n",
    "too large a number": b"f" * 17 + b"\r\nabc\r\n",
    "no end of the data": b"3\r\nabcXX0\r\n\r\n",
    "a bare line feed": b"3\nabc\n0\n\n",
}


@pytest.mark.usefixtures("still_serves")
@pytest.mark.parametrize("broken", BROKEN_CHUNKS.values(), ids=BROKEN_CHUNKS)
def test_a_body_in_broken_parts_ends_its_connection(site: Site, broken: bytes) -> None:
    before = site.call("runs")

    with site.connect() as connection:
        connection.send_until_refused(iter([chunked_head(calls("run")) + broken + RUN]))
        answers = connection.rest()

    assert answers.count(b"HTTP/1.1 ") <= 1
    assert b"HTTP/1.1 2" not in answers
    assert site.call("runs") == before


def test_two_requests_that_come_at_once_are_answered_in_order(site: Site) -> None:
    with site.connect() as connection:
        connection.send(posting(calls("size", text="a" * 3)) + posting(calls("size", text="a" * 7)))

        assert [connection.answer().text, connection.answer().text] == ["3", "7"]


# HTTP/1.0


@pytest.mark.usefixtures("still_serves")
@pytest.mark.parametrize("tool", ["size", "report"])
def test_a_client_of_http_1_0_gets_a_body_without_chunks_until_the_end_of_the_connection(
    site: Site, tool: str
) -> None:
    message = posting(calls(tool, text="four"))
    with site.connect() as connection:
        connection.send(message.replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", 1))
        answer = connection.answer()

        assert "transfer-encoding" not in answer.headers
        assert answer.headers["connection"] == "close"
        assert answer.text == "4"
        assert connection.is_closed()


# Said twice


@pytest.mark.usefixtures("still_serves")
@pytest.mark.parametrize("name", ROUTING)
def test_a_header_by_which_requests_are_routed_comes_once(site: Site, name: str) -> None:
    before = site.call("runs")
    extra = {"Origin": "http://localhost", "Mcp-Session-Id": "s", "Last-Event-ID": "1-1"}
    known = {"Authorization": "Bearer a", **extra, **posted(calls("run"))}
    message = json.dumps(calls("run")).encode()
    fields = [*fields_of(calls("run")), f"Content-Length: {len(message)}"]
    twice = [f"{name}: {known[name]}"] * (1 if name in posted(calls("run")) else 2)

    with site.connect() as connection:
        connection.send(lines("POST /mcp HTTP/1.1", *fields, *twice) + message)
        answer = connection.answer()

    assert answer.status == 400
    assert name.lower() in answer.error.lower()
    assert site.call("runs") == before


# Headers


@pytest.mark.usefixtures("still_serves")
@pytest.mark.parametrize(
    "more",
    [
        [f"X-Header-{number}: value" for number in range(101)],
        [f"X-Header-{number}: value" for number in range(10_000)],
        ["X-Header: value"] * 10_000,
        ["X-Header: " + "a" * 40_000],
        ["X-Header: " + "a" * MIB],
        ["X-" + "a" * 100_000 + ": value"],
    ],
    ids=["101", "10,000", "10,000 of one name", "40,000 bytes", "1 MiB", "a long name"],
)
def test_a_flood_of_headers_is_refused(site: Site, more: list[str]) -> None:
    before = site.call("runs")
    message = json.dumps(calls("run")).encode()
    fields = [*fields_of(calls("run")), f"Content-Length: {len(message)}"]

    with site.connect() as connection:
        connection.send_until_refused(iter([lines("POST /mcp HTTP/1.1", *fields, *more) + message]))
        status = connection.status()

    assert status in (431, 400, 0)
    assert site.call("runs") == before


@pytest.mark.usefixtures("still_serves")
@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/elsewhere"])
def test_a_flood_of_headers_is_refused_on_every_path(site: Site, path: str) -> None:
    with site.connect() as connection:
        connection.send_until_refused(iter([head("GET", path, {"X-Header": "a" * 100_000})]))
        status = connection.status()

    assert status in (431, 400, 0)


def test_many_headers_of_one_name_are_refused_before_anybody_has_to_wait(site: Site) -> None:
    with site.connect() as connection:
        connection.socket.settimeout(4)
        connection.send_until_refused(
            iter([lines("POST /mcp HTTP/1.1", "Host: localhost", *["X: y"] * 30_000)])
        )
        status = connection.status()

    assert status in (431, 400, 0)


ENDLESS = {
    "one value": (b"X-Header: ", b"a" * 65536),
    "one name": (b"", b"a" * 65536),
    "many headers": (b"", b"X-Header: value\r\n" * 4096),
    "one path": (None, b"a" * 65536),
}


@pytest.mark.usefixtures("still_serves")
@pytest.mark.parametrize(("start", "part"), ENDLESS.values(), ids=ENDLESS)
def test_headers_without_end_are_not_kept(site: Site, start: bytes | None, part: bytes) -> None:
    site.call("size", text="warm")

    with site.connect() as connection:
        connection.send(b"POST /" if start is None else b"POST /mcp HTTP/1.1\r\n" + start)
        parts = (part for _ in range(64 * MIB // len(part)))
        grown = site.growth(lambda: connection.send_until_refused(parts))

        assert connection.is_closed()
    assert grown < 16 * MIB


# What is no HTTP


GARBAGE = {
    "zeros": b"\0" * 1000,
    "random bytes": os.urandom(1000),
    "a TLS hello": bytes.fromhex("1603010200010001fc0303") + b"\x11" * 500,
    "SSH": b"SSH-2.0-OpenSSH_9.9\r\n",
    "the second version of HTTP": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a bare message": b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
    "an unknown verb": b"SPEAK /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an unknown version": b"POST /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "a path that is none": b"GET \x01\x02\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "empty lines": b"\r\n" * 1000,
}


@pytest.mark.usefixtures("still_serves")
@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_ends_its_connection_only(site: Site, garbage: bytes) -> None:
    with site.connect() as connection:
        connection.send_until_refused(iter([garbage]))
        answers = connection.rest()

    assert b"HTTP/1.1 2" not in answers
    assert b"HTTP/1.1 5" not in answers


@pytest.mark.usefixtures("still_serves")
def test_a_connection_to_be_upgraded_is_served_as_it_is(site: Site) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }
    with site.connect() as connection:
        connection.send(head("GET", "/mcp", upgrade))
        status = connection.head().status

    assert status in (400, 405)


# Too slow


def drip(connection: Connection, data: bytes) -> bool:
    """Send a byte now and then; is the connection ended meanwhile?"""
    connection.socket.settimeout(0.1)
    for byte in data:
        try:
            connection.socket.sendall(bytes([byte]))
            if not connection.socket.recv(65536):
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


@pytest.mark.usefixtures("still_serves")
@pytest.mark.parametrize("half", [b"", b"P", RUN[:100]], ids=["nothing", "a byte", "half a head"])
def test_who_does_not_say_what_it_wants_is_cut_off(site: Site, half: bytes) -> None:
    with site.connect() as connection:
        connection.send(half)

        assert connection.is_closed()


@pytest.mark.usefixtures("still_serves")
def test_who_says_what_it_wants_byte_by_byte_is_cut_off(site: Site) -> None:
    with site.connect() as connection:
        assert drip(connection, b"POST /mcp HTTP/1.1\r\n" + b"X-Header: value\r\n" * 10)


@pytest.mark.usefixtures("still_serves")
def test_who_was_served_before_and_says_half_of_the_next_request_is_cut_off(site: Site) -> None:
    with site.connect() as connection:
        assert connection.post(calls("size", text="abc")).text == "3"
        connection.send(RUN[:100])

        assert connection.is_closed()


@pytest.mark.usefixtures("still_serves")
@pytest.mark.parametrize("chunked", [False, True], ids=["of a length", "in parts"])
def test_a_body_that_does_not_go_on_is_given_up(site: Site, chunked: bool) -> None:
    before = site.call("runs")

    with site.connect() as connection:
        connection.send(chunked_head(calls("run")) + chunk(b'{"json') if chunked else RUN[:-20])
        answer = connection.answer()

        assert answer.status == 408
        assert connection.is_closed()
    assert site.call("runs") == before


@pytest.mark.usefixtures("still_serves")
def test_two_hundred_that_say_half_of_a_request_are_all_cut_off(site: Site) -> None:
    before = site.descriptors
    halves = [site.connect() for _ in range(200)]
    for number, connection in enumerate(halves):
        connection.send(RUN[: 100 if number % 2 else -20])

    assert site.call("size", text="abc") == "3"
    assert all(connection.is_closed() for connection in halves)
    assert site.descriptors <= before + 5
    site.close_all()


@pytest.mark.usefixtures("still_serves")
def test_who_leaves_in_the_middle_of_a_body_harms_nobody(site: Site) -> None:
    before = site.call("runs")

    for _ in range(20):
        with site.connect() as connection:
            connection.send(RUN[:-5])

    assert site.call("runs") == before
