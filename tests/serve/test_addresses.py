"""Where to listen, as it is written."""

import pytest

from toolhaft.serve.addresses import Address, UnixPath, address


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("127.0.0.1:8000", Address("127.0.0.1", 8000)),
        ("localhost:80", Address("localhost", 80)),
        ("8000", Address("127.0.0.1", 8000)),
        (":8000", Address("127.0.0.1", 8000)),
        ("0", Address("127.0.0.1", 0)),
        ("[::1]:8000", Address("::1", 8000)),
        ("0.0.0.0:65535", Address("0.0.0.0", 65535)),
        ("unix:/run/demo.sock", UnixPath("/run/demo.sock")),
    ],
)
def test_an_address_is_read(text: str, meant: Address | UnixPath) -> None:
    assert address(text) == meant


@pytest.mark.parametrize(
    "text", ["", ":", "host", "host:", "host:port", "1:65536", "::1:80", "[a]:80", "a:٣", "unix:"]
)
def test_what_is_no_address_is_told_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match="is no address; say HOST:PORT, as in"):
        address(text)


@pytest.mark.parametrize(
    "meant",
    [Address("127.0.0.1", 8000), Address("::1", 8000), UnixPath("/run/demo.sock")],
    ids=str,
)
def test_what_is_shown_can_be_read_again(meant: Address | UnixPath) -> None:
    assert address(str(meant)) == meant


@pytest.mark.parametrize(
    ("host", "is_loopback", "is_everywhere"),
    [
        ("localhost", True, False),
        ("127.8.8.8", True, False),
        ("::1", True, False),
        ("0.0.0.0", False, True),
        ("::", False, True),
        ("192.0.2.1", False, False),
    ],
)
def test_who_can_reach_it_is_known(host: str, is_loopback: bool, is_everywhere: bool) -> None:
    found = Address(host, 80)

    assert (found.is_loopback, found.is_everywhere) == (is_loopback, is_everywhere)
