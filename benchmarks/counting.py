"""What metrics cost a call: the same server in memory, with `server.metrics` and without.

    python benchmarks/counting.py

Prints CPU time per call of a tool, the shortest of many rounds in which the two take turns. Both
look at the clock when a call begins; what is left is what counting costs.
"""

import argparse
import asyncio
import time
from itertools import count

from toolhaft import Server
from toolhaft.calls.connection import Connection
from toolhaft.calls.output import Sink
from toolhaft.calls.service import connected
from toolhaft.protocol.calls import Call, Fate

_CALLS = 2000
_HELLO = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"benchmark","version":"1"}}}'
)
_CALL = (
    b'{"jsonrpc":"2.0","id":%d,"method":"tools/call",'
    b'"params":{"name":"add","arguments":{"a":1,"b":2}}}'
)


class Uncounted:
    """Counts nothing."""

    def ended(self, call: Call, fate: Fate | None, /) -> None:
        """A call is over."""


def made() -> Server:
    """A server with a tool that only computes."""
    server = Server("counted", version="1")

    @server.tool(thread=False)
    def add(a: int, b: int) -> int:
        return a + b

    return server


async def round_of(connection: Connection, ids: "count[int]") -> float:
    """CPU seconds of a call."""
    frames = [_CALL % next(ids) for _ in range(_CALLS)]
    loop = asyncio.get_running_loop()
    done: asyncio.Future[float] = loop.create_future()

    def serve() -> None:
        began = time.process_time()
        for frame in frames:
            connection.receive(frame)
        done.set_result((time.process_time() - began) / _CALLS)

    loop.call_soon(serve)
    return await done


async def main(rounds: int) -> None:
    """Measure, and print what was found."""
    with_, without = made(), made()
    shortest = {"with": float("inf"), "without": float("inf")}
    ids = count(1)
    async with (
        connected(with_, Sink(lambda frame: None)) as counted,
        connected(without, Sink(lambda frame: None)) as uncounted,
    ):
        uncounted.driver._ended = Uncounted().ended  # pyright: ignore[reportPrivateUsage]
        for connection in (counted, uncounted):
            connection.receive(_HELLO)
        for _ in range(rounds):
            for name, connection in (("with", counted), ("without", uncounted)):
                shortest[name] = min(shortest[name], await round_of(connection, ids))
    assert with_.metrics["tools/call:add"].calls == rounds * _CALLS
    for name, seconds in shortest.items():
        print(f"{name:8} {seconds * 1e6:6.2f} µs of CPU per call")
    print(f"counting {(shortest['with'] - shortest['without']) * 1e6:6.2f} µs")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    asyncio.run(main(parser.parse_args().rounds))
