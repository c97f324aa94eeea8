"""What several tests of servers in processes need."""

from tests.processes.process import framed, request

MANY_TOOLS = """
@server.tool
def plain(n: int) -> int:
    return n

@server.tool(thread=False)
def inline(n: int) -> int:
    return n

@server.tool
async def quick(n: int) -> int:
    return n

@server.tool
async def waiting(n: int) -> int:
    await asyncio.sleep(0)
    return n
"""


LISTEN = request(
    "listen",
    "subscriptions/listen",
    {
        "notifications": {"toolsListChanged": True},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
)


def _bodies(data: bytes) -> list[bytes]:
    """The messages of a stream with headers; whatever else is in it is an error."""
    found = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        assert head.lower().startswith(b"content-length: ")
        size = int(head.split()[1])
        found.append(rest[:size])
        data = rest[size:]
    return found


PINGS = [request(1, "ping"), request("zwei", "ping")]


PONGS = [
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","id":"zwei","result":{}}',
]


STREAMS = {
    "CRLF": b"".join(framed(ping) for ping in PINGS),
    "LF": b"".join(framed(ping, end="\n") for ping in PINGS),
    "two headers": b"".join(
        framed(ping, more="Content-Type: application/json\r\n") for ping in PINGS
    ),
    "another case": b"".join(
        framed(p).replace(b"Content-Length", b"content-length") for p in PINGS
    ),
}
