"""A lifespan that fails ends the server before it says anything."""

import pytest
from tests.processes.fixtures import Serve
from tests.processes.process import HANDSHAKE, request, tool_call

BROKEN = """
@contextlib.asynccontextmanager
async def broken(server):
    await asyncio.sleep({seconds})
    raise {error}
    yield

server = Server("tested", version="1.0.0", lifespan=broken)

@server.tool
async def needs_it() -> str:
    return "never"
"""


@pytest.mark.parametrize("how", ["run", "python"])
@pytest.mark.parametrize("error", ['ConnectionError("no database")', 'TimeoutError("no database")'])
@pytest.mark.parametrize("sends", [True, False], ids=["asked", "silent"])
def test_a_lifespan_that_fails_ends_the_server_before_it_says_anything(
    serve: Serve, how: str, error: str, sends: bool
) -> None:
    server = serve(BROKEN.format(seconds=0, error=error), how, opened=False)
    if sends:
        server.send(*HANDSHAKE, request(1, "tools/list"), tool_call(2, "needs_it"))

    assert server.ends() == 3
    assert server.left() == []
    last = server.stderr.splitlines()[-1]
    kind = error.partition("(")[0]
    expected = f"tested does not serve, since its lifespan failed: {kind}: no database"
    assert last == f"toolhaft: {expected}"
    assert "Traceback (most recent call last):" in server.stderr


@pytest.mark.parametrize("how", ["run", "python"])
def test_a_lifespan_that_takes_a_while_and_fails_ends_the_server(serve: Serve, how: str) -> None:
    source = BROKEN.format(seconds=1.5, error='ConnectionError("no database")')
    server = serve(source, how, opened=False)
    server.send(*HANDSHAKE, tool_call(2, "needs_it"))

    assert "result" in server.answer("init")
    assert server.ends() == 3
    [refused] = server.left()
    assert refused["id"] == 2
    assert "error" in refused
    assert "no database" not in str(refused)
    assert "lifespan failed: ConnectionError: no database" in server.stderr


def test_a_lifespan_that_fails_while_a_part_is_entered_ends_the_server(serve: Serve) -> None:
    source = BROKEN.format(seconds=0, error='ConnectionError("no database")')
    server = serve(
        source + "\nwhole = Server('whole', version='1')\nwhole.include(server, prefix='part')\n"
        "server = whole\n",
        opened=False,
    )
    server.send(*HANDSHAKE)

    assert server.ends() == 3
    assert server.left() == []
