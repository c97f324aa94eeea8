"""Serving over TLS, with a certificate made for the test."""

import asyncio
import gc
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.processes.process import PATIENCE
from tests.transports.http.servers.conftest import Serve, sites
from tests.transports.http.servers.web import (
    HERE,
    NEWEST,
    OF_SESSIONS,
    Site,
    by_command,
    calls,
    listens,
    write,
)

from toolhaft.client.http.sockets import Sockets

PLAIN = """
@server.tool
def hello() -> str:
    return "hello"
"""


class Files(NamedTuple):
    """A certificate and its key."""

    certificate: Path
    key: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A certificate for this machine that it has signed itself."""
    folder = tmp_path_factory.mktemp("tls")
    made = Files(folder / "certificate.pem", folder / "key.pem")
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", made.key, "-out",
            made.certificate,
        ],
        check=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    return made


@pytest.fixture(scope="module", params=["uvicorn", "granian"])
def site(
    tmp_path_factory: pytest.TempPathFactory, files: Files, request: pytest.FixtureRequest
) -> Iterator[Site]:
    """A server over TLS, by each of the runners."""
    with sites(tmp_path_factory.mktemp("served")) as start:
        options = ["--tls", str(files.certificate), str(files.key), "--runner", request.param]
        site = start(PLAIN, *options, awaited=False)
        site.certificate = files.certificate
        yield site.is_served()


def test_the_address_says_https(site: Site) -> None:
    assert f"https://{HERE}:{site.port}/mcp" in site.stderr


@pytest.mark.parametrize("revision", [NEWEST, OF_SESSIONS])
def test_clients_that_trust_the_certificate_are_served(site: Site, revision: str) -> None:
    with site.client(revision=revision) as client:
        assert client.call("hello") == "hello"


def test_a_page_of_this_machine_may_call_over_tls(site: Site) -> None:
    origin = f"https://localhost:{site.port}"

    assert site.post(calls("hello"), {"Origin": origin}).status == 200


def test_a_client_that_speaks_no_tls_harms_nobody(site: Site) -> None:
    with socket.create_connection((HERE, site.port), PATIENCE) as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        plain.settimeout(PATIENCE)
        with pytest.raises((ConnectionError, ssl.SSLError, AssertionError)):
            assert plain.recv(100).startswith(b"HTTP/1.1 200")

    assert site.call("hello") == "hello"


def test_a_client_that_does_not_shake_hands_is_let_go(serve: Serve, files: Files) -> None:
    limited = 'server = Server("s", version="1", limits=Limits(head_seconds=0.2))\n'
    site = serve(limited + PLAIN, "--tls", str(files.certificate), str(files.key), awaited=False)
    site.certificate = files.certificate
    site.is_served()
    with socket.create_connection((HERE, site.port), PATIENCE) as plain:
        plain.settimeout(PATIENCE)

        assert plain.recv(100) == b""
    assert site.call("hello") == "hello"


def test_an_open_stream_over_tls_is_completed_at_the_end(serve: Serve, files: Files) -> None:
    site = serve(PLAIN, "--tls", str(files.certificate), str(files.key), awaited=False)
    site.certificate = files.certificate
    site.is_served()
    stream = site.stream(listens())
    assert stream.next()["method"] == "notifications/subscriptions/acknowledged"

    site.signal(signal.SIGTERM)

    assert stream.next()["id"] == "listen"
    assert site.ends() == 0
    assert "Traceback" not in site.stderr


def answer_and_stay(listener: socket.socket, files: Files, is_over: threading.Event) -> None:
    """Serve one request, and take no notice of the client's goodbye."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    plain, _ = listener.accept()
    plain.settimeout(PATIENCE)
    with context.wrap_socket(plain, server_side=True) as connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
        is_over.wait(PATIENCE)


async def leave_while_it_closes(url: str, certificate: Path) -> None:
    """Make a request, and cancel it when all that is left to do is to close its connection."""
    is_answered = asyncio.Event()

    async def ask() -> None:
        async with Sockets(url, certificate=certificate).request("GET", {}, b"") as response:
            await response.read()
            is_answered.set()

    asking = asyncio.create_task(ask())
    await is_answered.wait()  # since it was set, the task has gone on until it had to wait
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


def test_a_client_that_is_cancelled_while_it_closes_leaves_nothing_open(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    noticed: list[BaseException | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: noticed.append(told.exc_value))
    is_over = threading.Event()
    with socket.create_server((HERE, 0)) as listener:
        serving = threading.Thread(target=answer_and_stay, args=(listener, files, is_over))
        serving.start()
        url = f"https://localhost:{listener.getsockname()[1]}"

        asyncio.run(leave_while_it_closes(url, files.certificate))

        gc.collect()  # warns of what is still open
        is_over.set()
        serving.join(PATIENCE)
    assert noticed == []


def shake_hands_and_stay(listener: socket.socket, files: Files, is_over: threading.Event) -> None:
    """Accept one connection, and take no notice of the client's goodbye."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    plain, _ = listener.accept()
    plain.settimeout(PATIENCE)
    with context.wrap_socket(plain, server_side=True):
        is_over.wait(PATIENCE)


def test_a_client_that_is_cancelled_as_the_handshake_is_done_leaves_nothing_open(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    noticed: list[BaseException | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: noticed.append(told.exc_value))
    is_over = threading.Event()
    connected = asyncio.StreamReaderProtocol.connection_made

    async def ask(url: str) -> None:
        asking = asyncio.current_task()
        assert asking is not None

        def cancel(protocol: asyncio.StreamReaderProtocol, transport: asyncio.Transport) -> None:
            connected(protocol, transport)
            asking.cancel()

        monkeypatch.setattr(asyncio.StreamReaderProtocol, "connection_made", cancel)
        async with Sockets(url, certificate=files.certificate).request("GET", {}, b""):
            pytest.fail("it was cancelled")

    with socket.create_server((HERE, 0)) as listener:
        serving = threading.Thread(target=shake_hands_and_stay, args=(listener, files, is_over))
        serving.start()
        url = f"https://localhost:{listener.getsockname()[1]}"

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(ask(url))

        gc.collect()  # warns of what is still open
        is_over.set()
        serving.join(PATIENCE)
    assert noticed == []


def test_a_key_that_does_not_belong_to_the_certificate_is_said(
    tmp_path: Path, files: Files
) -> None:
    other = tmp_path / "other.pem"
    subprocess.run(
        ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(other)],
        check=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    command = by_command(write(tmp_path, PLAIN), "--tls", str(files.certificate), str(other))

    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)

    assert done.returncode == 2
    assert "toolhaft: " in done.stderr
    assert "Traceback" not in done.stderr
