"""The benchmark's tools without a library: about the most that Python and msgspec can do.

Read a line, decode it, call, encode, write. No errors, no checks beyond the types, no concurrency,
no cancellation: a library that does all of that cannot be expected to cost less.
"""

import inspect
import os
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from msgspec import Raw, Struct

encode = msgspec.json.encode


class Envelope(Struct, gc=False):
    method: str
    id: int | str | None = None
    params: Raw = Raw(b"{}")


class CallParams(Struct, gc=False):
    name: str
    arguments: Raw
    meta: Raw | msgspec.UnsetType = msgspec.field(name="_meta", default=msgspec.UNSET)


class Sum(Struct, gc=False):
    a: int
    b: int


class Text(Struct, gc=False):
    text: str


class Item(Struct, gc=False):
    name: str
    price: int
    quantity: int
    tags: list[str]


class Query(Struct, gc=False):
    text: str
    limit: int
    items: list[Item]


class Search(Struct, gc=False):
    query: Query


class Find(Struct, gc=False):
    path: str
    pattern: str
    depth: int = 3
    hidden: bool = False


async def add(arguments: Sum) -> int:
    """Add two numbers."""
    return arguments.a + arguments.b


def add_sync(arguments: Sum) -> int:
    """Add two numbers."""
    return arguments.a + arguments.b


async def echo(arguments: Text) -> str:
    """Give the text back."""
    return arguments.text


async def search(arguments: Search) -> int:
    """Add up what the items of the query cost."""
    return sum(item.price * item.quantity for item in arguments.query.items)


async def filler(arguments: Find) -> str:
    """Look for a pattern in the files below a path."""
    return f"{arguments.path} {arguments.pattern} {arguments.depth} {arguments.hidden}"


def run_to_end(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Drive a coroutine that never waits: all that these tools need of an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("the tools of the limit must not wait")


class Tool:
    """A function, the decoder of its arguments, and what `tools/list` says of it."""

    def __init__(self, name: str, function: Callable[[Any], Any]) -> None:
        arguments, result = inspect.get_annotations(function).values()
        self.decode = msgspec.json.Decoder(arguments).decode
        self.call = function
        if inspect.iscoroutinefunction(function):
            self.call = lambda arguments: run_to_end(function(arguments))
        self.description = {
            "name": name,
            "description": function.__doc__,
            "inputSchema": msgspec.json.schema_components([arguments])[1][arguments.__name__],
            "outputSchema": {
                "type": "object",
                "properties": {"result": msgspec.json.schema(result)},
                "required": ["result"],
            },
        }


TOOLS = {tool.__name__: Tool(tool.__name__, tool) for tool in (add, add_sync, echo)}
for name in ("search_structs", "search_dataclasses"):
    TOOLS[name] = Tool(name, search)
if "BENCH_MODELS" in os.environ:
    TOOLS["search_models"] = Tool("search_models", search)
for number in range(int(os.environ.get("BENCH_FILLERS", "0"))):
    TOOLS[f"filler_{number:04}"] = Tool(f"filler_{number:04}", filler)

SERVER_INFO = {"name": "bench", "version": "1"}
STAMP = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": SERVER_INFO}}
CAPABILITIES = {"tools": {}}

# What does not depend on the request is encoded once.
ENCODED_STAMP = b"," + encode(STAMP)[1:-1]
ENCODED_RESULTS = {
    "initialize": encode(
        {
            "protocolVersion": "2025-11-25",
            "capabilities": CAPABILITIES,
            "serverInfo": SERVER_INFO,
        }
    ),
    "server/discover": encode(
        {"supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES, **STAMP}
    ),
    "tools/list": encode({"tools": [tool.description for tool in TOOLS.values()]}),
}

decode_envelope = msgspec.json.Decoder(Envelope).decode
decode_call = msgspec.json.Decoder(CallParams).decode


def call_result(params: Raw) -> bytes:
    """Call the tool that the params name and encode its result."""
    call = decode_call(params)
    tool = TOOLS[call.name]
    value = tool.call(tool.decode(call.arguments))
    encoded = encode(value)
    return b'{"content":[{"type":"text","text":%b}],"structuredContent":{"result":%b}%b}' % (
        encoded if type(value) is str else b'"%b"' % encoded,
        encoded,
        b"" if call.meta is msgspec.UNSET else ENCODED_STAMP,
    )


def serve() -> None:
    """Answer every request of stdin until it ends."""
    read_line = sys.stdin.buffer.readline
    write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush
    while line := read_line():
        message = decode_envelope(line)
        if message.id is None:
            continue
        if message.method == "tools/call":
            result = call_result(message.params)
        else:
            result = ENCODED_RESULTS[message.method]
        write(b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (encode(message.id), result))
        flush()


if __name__ == "__main__":
    serve()
