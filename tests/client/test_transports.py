"""The client for tests beside memory: over stdio, over HTTP, and to an ASGI application."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.testing.offering import ERAS, PIXEL, REVISIONS, Log, make

from toolhaft import Context, Listener, McpError, Server, Unauthorized
from toolhaft.testing import (
    BadAnswer,
    Client,
    NoAnswer,
    Refused,
    ServerGone,
    SyncClient,
    ToolFailed,
    Unanswered,
)
from toolhaft.types.content import ImageContent

every_revision = pytest.mark.parametrize("revision", REVISIONS)
every_era = pytest.mark.parametrize("revision", ERAS)
ROOT = Path(__file__).parents[2]


# Over HTTP, with a socket and without


@asynccontextmanager
async def listening(server: Server, **options: Any) -> AsyncIterator[str]:
    """A server that listens on a port of the system's choice; its URL."""
    listener = Listener("127.0.0.1:0", {"/mcp": server}, **options)
    serving = asyncio.create_task(listener.serve())
    try:
        async with asyncio.timeout(15):
            while True:
                try:
                    url = listener.url
                    port = int(url.rpartition(":")[2])
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.01)
                else:
                    writer.close()
                    await writer.wait_closed()
                    break
        yield f"{url}/mcp"
    finally:
        listener.stop(now=True)
        await serving


@asynccontextmanager
async def by_socket(server: Server, revision: str | None, **options: Any) -> AsyncIterator[Client]:
    own = {name: options.pop(name) for name in ("guard", "sessions") if name in options}
    async with (
        listening(server, **own) as url,
        Client.http(url, revision=revision, **options) as client,
    ):
        yield client


@asynccontextmanager
async def by_asgi(server: Server, revision: str | None, **options: Any) -> AsyncIterator[Client]:
    own = {name: options.pop(name) for name in ("guard", "sessions") if name in options}
    async with Client.asgi(server.asgi(**own), revision=revision, **options) as client:
        yield client


over_http = pytest.mark.parametrize("over", [by_socket, by_asgi], ids=["socket", "asgi"])
Over = Callable[..., Any]


@over_http
@every_revision
async def test_everything_is_there_over_http(over: Over, revision: str) -> None:
    server = make()
    told: list[Any] = []
    async with over(server, revision, on_progress=lambda *args: told.append(args)) as client:
        assert client.revision == revision
        assert client.server_info.name == "offering"
        assert await client.call("words", text="é 🦜") == "é 🦜"
        assert await client.call("picture") == ImageContent(PIXEL, "image/png")
        assert len(await client.list_tools()) == 14
        assert await client.read("notes://all") == "milk"
        assert (await client.prompt("greet", mood="sad")).texts == [("user", "Be sad.")]
        await client.call("steps")
        async with client.listen(tools=True, uris=["notes://all"]) as heard:
            server.resource_updated("notes://all")
            assert (await heard.next()).uri == "notes://all"
            server.remove_tool("add")
            assert (await heard.next()).method == "notifications/tools/list_changed"
        with pytest.raises(McpError, match="add"):
            await client.call("add")
        assert (await client.raw("{"))["error"]["code"] == -32700

    assert [args[0] for args in told if args[1]] == [1, 2]


@over_http
@every_era
async def test_questions_are_answered_over_http(over: Over, revision: str) -> None:
    async with over(make(), revision, answers=["a", "b"]) as client:
        assert await client.call("twice") == ["a", "b"]
    async with over(make(), revision) as client:
        with pytest.raises(Unanswered):
            await client.call("order")


@over_http
@every_era
async def test_a_call_is_taken_back_over_http(over: Over, revision: str) -> None:
    log = Log()
    async with over(make(log), revision) as client:
        calling = asyncio.create_task(client.call("waits"))
        await log.is_waiting.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        with pytest.raises(NoAnswer, match="tools/call 'waits': no answer within"):
            await client.call_raw("waits", timeout=0.1)
        while log.count("cancelled") < 2:
            await client.call("nothing")

        methods = [sent["method"] for sent in client.wire.sent]
        # In the newest revision, closing the stream says it.
        assert ("notifications/cancelled" in methods) == (revision != "2026-07-28")


async def test_an_answer_may_come_on_a_second_stream() -> None:
    server = Server("s")

    @server.tool
    async def report(ctx: Context) -> str:
        ctx.hang_up()
        await asyncio.sleep(0.05)
        return "42 pages"

    async with by_socket(server, "2025-11-25") as client:
        assert await client.call("report") == "42 pages"


@over_http
async def test_headers_repeat_what_a_schema_wants_repeated(over: Over) -> None:
    server = Server("s")
    schema = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "size": {"type": "integer", "x-mcp-header": "Size"},
            "loud": {"type": "boolean", "x-mcp-header": "Loud"},
        },
    }

    @server.tool(input_schema=schema)
    def where(ctx: Context, **arguments: Any) -> dict[str, str]:
        return {name: value for name, value in ctx.headers.items() if "param" in name}

    async with over(server, "2026-07-28") as client:
        assert await client.call("where", region=" süd", size=3, loud=True) == {
            "mcp-param-region": "=?base64?IHPDvGQ=?=",
            "mcp-param-size": "3",
            "mcp-param-loud": "true",
        }
        assert await client.call("where", region="north") == {"mcp-param-region": "north"}


def guard(headers: Any) -> str:
    if headers.get("authorization") != "Bearer secret":
        raise Unauthorized("send a token")
    return "alice"


@over_http
async def test_a_closed_door_is_said_to_be_closed(over: Over) -> None:
    server = Server("s")

    @server.tool
    def who(ctx: Context) -> str:
        return str(ctx.principal)

    headers = {"Authorization": "Bearer secret"}
    for revision in (None, *ERAS):
        async with over(server, revision, guard=guard, headers=headers) as client:
            assert await client.call("who") == "alice"
        with pytest.raises((Refused, McpError), match=r"send a token|401"):
            async with over(server, revision, guard=guard):
                pass


@over_http
async def test_a_session_ends_with_the_client(over: Over) -> None:
    server = Server("s")

    @server.tool
    def session(ctx: Context) -> str:
        return "there is one" if ctx.session is not None else "none"

    async with over(server, "2025-11-25", sessions="stateful") as client:
        assert await client.call("session") == "there is one"


async def test_who_is_not_there_is_said_not_to_be_there() -> None:
    with pytest.raises(ServerGone, match=r"nothing listens at http://127\.0\.0\.1:9/mcp"):
        async with Client.http("http://127.0.0.1:9/mcp"):
            pass
    with pytest.raises(ValueError, match="'localhost:80' is no URL of a server"):
        async with Client.http("localhost:80"):
            pass


async def serving(answer: bytes) -> tuple[asyncio.Server, str]:
    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\nlost", Refused, "answers with 500: lost"),
        (b"SSH-2.0-x\r\n\r\n", BadAnswer, "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nlost", ServerGone, "has hung up"),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", BadAnswer, "answers with no message: b'hello'"),
        (b"HTTP/1.1 202 OK\r\n\r\n", BadAnswer, "answers a request with nothing"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hi\n\n",
            ServerGone,
            "has ended the stream without an answer",
        ),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n",
            Refused,
            "answers with 404: abc",
        ),
    ],
    ids=["500", "no HTTP", "cut off", "no JSON", "nothing", "an empty stream", "in chunks"],
)
async def test_strange_answers_over_http_are_told(answer: bytes, error: Any, told: str) -> None:
    server, url = await serving(answer)
    async with server:
        with pytest.raises(error, match=told):
            async with Client.http(url, revision="2025-11-25"):
                pass


async def test_an_application_that_breaks_is_told() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("no database")

    with pytest.raises(ServerGone, match="has not answered: LookupError"):
        async with Client.asgi(app):
            pass


async def test_an_application_that_breaks_off_is_told() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            raise LookupError("no database")

    with pytest.raises(ServerGone, match="broke off: LookupError"):
        async with Client.asgi(app):
            pass


async def test_what_takes_no_message_is_not_waited_for() -> None:
    server = make().asgi()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            first = await receive()
            if b"notifications" in first["body"]:
                await asyncio.sleep(60)

            async def again() -> Any:
                return first

            await server(scope, again, send)

    with pytest.raises(NoAnswer, match=r"notifications/initialized: no answer within 0\.5 seconds"):
        async with Client.asgi(app, revision="2025-11-25", timeout=0.5):
            pass


# Over stdio


def script(folder: Path, source: str) -> list[str]:
    path = folder / "script.py"
    path.write_text(dedent(source))
    return [sys.executable, str(path)]


@every_revision
async def test_a_process_is_started_and_ended(revision: str) -> None:
    command = "toolhaft run examples/demo.py"
    async with Client.stdio(command, revision=revision, cwd=ROOT) as client:
        assert client.revision == revision
        assert client.server_info.name == "demo"
        assert await client.call_raw("add", {"a": 1, "b": 2})
        assert client.stderr == ""


async def test_a_process_has_a_folder_and_variables(tmp_path: Path) -> None:
    source = """
        import os
        from toolhaft import Server
        server = Server("s")

        @server.tool
        def where() -> list[str]:
            os.write(2, b"asked\\n")
            return [os.getcwd(), os.environ["COLOUR"], os.environ["HOME"]]

        @server.tool
        def pid() -> int:
            return os.getpid()

        server.run()
    """
    script(tmp_path, source)
    async with Client.stdio("python script.py", cwd=tmp_path, env={"COLOUR": "red"}) as client:
        assert await client.call("where") == [str(tmp_path), "red", os.environ["HOME"]]
        pid = await client.call("pid")
        os.kill(pid, 0)

    assert client.stderr == "asked\n"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_file_is_no_command(tmp_path: Path) -> None:
    with pytest.raises(ServerGone, match=r"shop\.py cannot be started: .*; try: toolhaft run shop"):
        async with Client.stdio("shop.py", cwd=tmp_path):
            pass


@pytest.mark.parametrize(("end", "status"), [("", 0), ("raise SystemExit(3)", 3)])
async def test_the_status_of_a_process_is_known_at_its_end(
    tmp_path: Path, end: str, status: int
) -> None:
    source = f"""
        from toolhaft import Server
        Server("s").run()
        {end}
    """
    async with Client.stdio(script(tmp_path, source)) as client:
        during = client.exit_status
    async with Client(Server("s")) as other:
        pass

    assert (during, client.exit_status, other.exit_status) == (None, status, None)


def test_a_plain_function_can_start_a_process() -> None:
    with SyncClient.stdio(["toolhaft", "run", "examples/demo.py"], cwd=ROOT) as client:
        assert client.revision == "2026-07-28"
        with pytest.raises(ToolFailed, match="b"):
            client.call("add", a=1)


async def test_a_process_that_ends_says_why(tmp_path: Path) -> None:
    command = script(tmp_path, "import sys; sys.exit('no licence')")

    with pytest.raises(ServerGone, match=r"exit status 1; on stderr:\nno licence$"):
        async with Client.stdio(command):
            pass


async def test_a_process_that_ends_in_a_call_says_so(tmp_path: Path) -> None:
    source = """
        import os
        from toolhaft import Server
        server = Server("s")

        @server.tool
        def die() -> None:
            os._exit(3)

        server.run()
    """
    async with Client.stdio(script(tmp_path, source)) as client:
        for _ in range(2):
            with pytest.raises(ServerGone, match="exit status 3, and said nothing on stderr"):
                await client.call("die")


async def test_a_process_that_keeps_silent_is_not_waited_for(tmp_path: Path) -> None:
    source = "import sys; print('thinking', file=sys.stderr, flush=True); sys.stdin.read()"

    with pytest.raises(
        NoAnswer, match=r"^initialize: no answer within 2 seconds; on stderr:\nthinking$"
    ):
        async with Client.stdio(script(tmp_path, source), revision="2025-11-25", timeout=2):
            pass


async def test_what_is_no_message_on_stdout_is_told(tmp_path: Path) -> None:
    source = "print('hello', flush=True); input()"

    with pytest.raises(BadAnswer, match="the server sent what is not JSON: b'hello'"):
        async with Client.stdio(script(tmp_path, source)):
            pass


async def test_what_comes_last_on_stdout_is_on_record_without_the_end_of_its_line(
    tmp_path: Path,
) -> None:
    file = tmp_path / "author.py"
    file.write_text(
        "import atexit, os\n"
        "from toolhaft import Server\n"
        "out = os.dup(1)\n"
        "atexit.register(os.write, out, b'half a line')\n"
        "Server('s').run()\n"
    )
    async with Client.stdio(["python", file], revision="2025-11-25") as client:
        await client.ping()

    assert client.wire.received[-1] == b"half a line"


async def test_a_command_that_is_not_there_is_told() -> None:
    with pytest.raises(ServerGone, match="no-such-command --now cannot be started"):
        async with Client.stdio("no-such-command --now"):
            pass
    with pytest.raises(ValueError, match="no command"):
        async with Client.stdio(""):
            pass


# How clients of both eras find out what a server speaks

OLD = """
    import json, sys
    STYLE = "{style}"
    for line in sys.stdin:
        message = json.loads(line)
        answer = dict(jsonrpc="2.0", id=message.get("id"))
        if message["method"] == "initialize":
            info = dict(name="old", version="1")
            answer["result"] = dict(
                protocolVersion="{version}", capabilities=dict(), serverInfo=info
            )
        elif "id" not in message or STYLE == "silent" and message["method"] != "ping":
            continue
        elif message["method"] == "ping":
            answer["result"] = dict()
        elif STYLE == "newer":
            answer["error"] = dict(
                code=-32022, message="no", data=dict(supported=["2099-01-01", "2025-03-26"])
            )
        else:
            answer["error"] = dict(code=-32601, message="no such method")
        print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize("style", ["refusing", "silent", "newer"])
async def test_a_client_falls_back_to_the_handshake(tmp_path: Path, style: str) -> None:
    source = OLD.format(style=style, version="2025-03-26")
    async with Client.stdio(script(tmp_path, source), timeout=3) as client:
        await client.ping()
        assert client.revision == "2025-03-26"
        assert client.server_info.name == "old"
        asked = [each for each in client.wire.sent if each["method"] == "initialize"]

    [opening] = asked
    wanted = "2025-03-26" if style == "newer" else "2025-11-25"
    assert opening["params"]["protocolVersion"] == wanted


async def test_another_revision_than_the_wanted_one_is_an_error(tmp_path: Path) -> None:
    command = script(tmp_path, OLD.format(style="refusing", version="2025-03-26"))

    with pytest.raises(BadAnswer, match="speaks revision 2025-03-26, and not 2025-11-25"):
        async with Client.stdio(command, revision="2025-11-25"):
            pass
    with pytest.raises(McpError, match="no such method"):
        async with Client.stdio(command, revision="2026-07-28"):
            pass


async def test_a_client_declares_what_its_revision_knows() -> None:
    declared = {}
    for revision in REVISIONS:
        async with Client(make(), revision) as client:
            first = client.wire.sent[0]["params"]
        found = (
            first.get("capabilities")
            or first["_meta"]["io.modelcontextprotocol/clientCapabilities"]
        )
        declared[revision] = json.dumps(found, sort_keys=True)

    newest = '{"elicitation": {"form": {}, "url": {}}, "roots": {}, "sampling": {"tools": {}}}'
    oldest = '{"roots": {}, "sampling": {}}'
    assert declared == {
        "2026-07-28": newest,
        "2025-11-25": newest,
        "2025-06-18": '{"elicitation": {}, "roots": {}, "sampling": {}}',
        "2025-03-26": oldest,
        "2024-11-05": oldest,
    }
