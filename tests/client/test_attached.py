"""Where a client for tests finds its server, or the session of another client."""

import asyncio
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.testing.offering import add_memory

from toolhaft import McpError, Server
from toolhaft.client.http.asgi import Application
from toolhaft.stores.memory import MemoryStore
from toolhaft.testing import Client, ServerGone, SyncClient
from toolhaft_bridge.socket_directory import NotAttached

OLD, NEW = "2025-11-25", "2026-07-28"
every_era = pytest.mark.parametrize("revision", [OLD, NEW])


def make(store: MemoryStore | None = None) -> Server:
    server = Server("kept", version="1", store=store)

    add_memory(server)
    return server


# Sessions


async def test_the_id_of_a_session_is_known() -> None:
    app = make().asgi()
    async with (
        Client.asgi(app, revision=OLD) as first,
        Client.asgi(app, revision=OLD, lifespan=False) as second,
    ):
        ids = [first.session_id, second.session_id]

    assert all(id_ is not None and len(id_) > 20 for id_ in ids)
    assert ids[0] != ids[1]


async def test_there_is_no_id_where_there_is_no_session() -> None:
    async with Client.asgi(make().asgi(), revision=NEW) as client:
        assert client.session_id is None
    async with Client.asgi(make().asgi(sessions="stateless"), revision=OLD) as client:
        assert client.session_id is None
    async with Client(make(), OLD) as client:
        assert client.session_id is None


async def test_a_session_goes_on_in_another_client_and_ends_with_its_own() -> None:
    app = make().asgi()
    async with Client.asgi(app, revision=OLD) as own:
        await own.call("remember", value="milk")
        async with Client.asgi(app, revision=OLD, session=own.session_id, lifespan=False) as guest:
            assert guest.session_id == own.session_id
            assert await guest.call("recall") == "milk"
        assert await own.call("recall") == "milk"
        id_ = own.session_id
    async with Client.asgi(app, revision=OLD, session=id_) as late:
        with pytest.raises(McpError, match="session"):
            await late.call("recall")


async def test_a_session_goes_on_where_the_store_is_the_same() -> None:
    store = MemoryStore()
    async with Client.asgi(make(store).asgi(), revision=OLD) as before:
        await before.call("remember", value="milk")
        elsewhere = make(store).asgi()
        async with Client.asgi(elsewhere, revision=OLD, session=before.session_id) as after:
            assert await after.call("recall") == "milk"


@pytest.mark.parametrize("revision", [None, NEW, "1999-01-01"])
def test_a_session_has_a_revision_of_its_own(revision: str | None) -> None:
    with pytest.raises(ValueError, match="session= needs revision="):
        Client.http("http://localhost/mcp", session="x", revision=revision)


async def test_a_lifespan_may_be_that_of_another_client() -> None:
    entered: list[str] = []

    @asynccontextmanager
    async def live(server: Server) -> AsyncIterator[None]:
        entered.append("in")
        yield
        entered.append("out")

    server = Server("s", lifespan=live)
    app: Application = server.asgi()
    async with Client.asgi(app):
        async with Client.asgi(app, lifespan=False):
            pass
        assert entered == ["in"]
    assert entered == ["in", "out"]


# Unix sockets and TLS


async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that shakes hands, whoever asks and for what."""
    await reader.readuntil(b"\r\n\r\n")
    result = b'{"capabilities":{},"supportedVersions":["2026-07-28"]}'
    body = b'{"jsonrpc":"2.0","id":1,"result":%b}' % result
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    writer.write(head % len(body) + body)
    await writer.drain()
    writer.close()


async def test_a_server_may_listen_at_a_unix_socket(short: Path) -> None:
    path = short / "s"
    async with (
        await asyncio.start_unix_server(answering, path),
        Client.http("http://localhost/mcp", uds=path) as client,
    ):
        assert client.revision == NEW
    with pytest.raises(ServerGone, match="localhost"):
        async with Client.http("http://localhost/mcp", uds=short / "other"):
            pass


@pytest.fixture
def certified(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for this machine that it has signed itself, and its key."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
        ],
        check=True, capture_output=True, timeout=20,
    )  # fmt: skip
    return certificate, key


async def test_a_certificate_may_be_trusted(certified: tuple[Path, Path]) -> None:
    certificate, key = certified
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    async with await asyncio.start_server(answering, "127.0.0.1", 0, ssl=context) as server:
        url = f"https://localhost:{server.sockets[0].getsockname()[1]}/mcp"
        async with Client.http(url, certificate=certificate) as client:
            assert client.revision == NEW
        with pytest.raises(ServerGone, match="CERTIFICATE_VERIFY_FAILED"):
            async with Client.http(url):
                pass
    with pytest.raises(ValueError, match=r"nowhere\.pem cannot be used"):
        async with Client.http(url, certificate=key.parent / "nowhere.pem"):
            pass


# Attached processes


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for sockets, whose paths have to be short; and the user's runtime directory."""
    folder = Path(tempfile.mkdtemp(prefix="th-", dir="/tmp"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.usefixtures("short")
@every_era
async def test_an_attached_process_is_reached_by_its_name_and_its_socket(revision: str) -> None:
    with make().attach("kept") as attached:
        for process in ("kept", attached.socket, Path(attached.socket)):
            async with Client.attached(process, revision=revision) as client:
                assert client.server_info.name == "kept"
                assert await client.call("recall") in ("nothing", "no session")


@pytest.mark.usefixtures("short")
def test_a_plain_function_reaches_an_attached_process() -> None:
    with make().attach("kept"), SyncClient.attached("kept", revision=OLD) as client:
        client.call("remember", value="milk")
        assert client.call("recall") == "milk"


@pytest.mark.usefixtures("short")
async def test_a_program_may_ask_itself() -> None:
    async with (
        make().attach("kept", run_on=asyncio.get_running_loop()),
        Client.attached("kept") as client,
    ):
        assert await client.call("recall") == "no session"


async def test_who_is_not_attached_is_named(short: Path) -> None:
    for process in ("nobody", short / "nobody.sock"):
        with pytest.raises(NotAttached, match="nobody"):
            async with Client.attached(process):
                pass
