"""What the contenders are asked to do over HTTP, in both eras, with JSON and with events."""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from typing import Any, Literal

from messages import GERMAN_AND_CHINESE, SOURCE_CODE
from workloads import MAX_CALLS, Calls, Workload, adding, compact, echoing, request, searching

Answer = Literal["json", "sse"]
Revision = Literal["2026-07-28", "2025-11-25"]
# How the application of a contender is served: by itself, or mounted in one of Starlette.
Place = Literal["alone", "mounted"]

PATH = "/mcp"
ACCEPT = "application/json, text/event-stream"

# In so many parts calls are done in each round; contenders take turns at each.
TURNS = 4

SLOW_CALLS = 1000
SLOW_SECONDS = 60.0  # a bound that is not meant to be reached

ADD = adding("add", "two numbers")
ADD_SYNC = adding("add-sync", "two numbers, on a thread", tool="add_sync")
ADD_WITH_PROGRESS = adding("add-progress", "two numbers, with events", tool="add_with_progress")
ADD_SLOWLY = adding("add-slowly", "two numbers, later", tool="add_slowly")


@dataclass(frozen=True, kw_only=True, eq=False)
class HttpCalls(Workload):
    """A row that is measured by calling one tool again and again on connections that stay open."""

    call: Calls = ADD  # which tool, with which arguments, and the result that must come
    revision: Revision
    answer: Answer = "json"
    connections: int
    sessions: int = 1  # of a revision that has them; calls take turns
    max_calls: int = MAX_CALLS

    @property
    def tool(self) -> str:
        name: str = self.call.params["name"]
        return name

    @property
    def one_core(self) -> bool:
        """Calls one by one share a core with the load; load.h says why."""
        return self.connections == 1

    @property
    def has_sessions(self) -> bool:
        return self.revision == "2025-11-25"


@dataclass(frozen=True, kw_only=True, eq=False)
class BurstOfCalls(HttpCalls):
    """A row that is measured by the time until all calls that were sent at once are answered."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldMemory(Workload):
    """A row that is measured by how much a server grows when it holds more of something."""

    held: Literal["session", "stream"]
    before: int  # that many come first, so that what is needed just once is not counted
    count: int


@dataclass(frozen=True, kw_only=True)
class HttpStage:
    """One start of a server, and what it is measured by before it is stopped."""

    name: str
    workloads: tuple[Workload, ...]
    answer: Answer = "json"  # for libraries that must be told
    place: Place = "alone"
    models: bool = False  # is there a tool that takes pydantic models as well?
    without: frozenset[str] = frozenset()  # contenders for which the stage has no meaning
    slow_for: frozenset[str] = frozenset()  # contenders that a quick run spares the stage
    rounds: int = sys.maxsize  # no more than that, where more would say the same
    turns: int = TURNS


def headers(revision: Revision, method: str, *, tool: str | None = None) -> dict[str, str]:
    """The headers of a request; since 2026-07-28 they repeat what its body says."""
    common = {
        "Content-Type": "application/json",
        "Accept": ACCEPT,
        "MCP-Protocol-Version": revision,
    }
    if revision == "2025-11-25":
        return common
    return {**common, "Mcp-Method": method, **({"Mcp-Name": tool} if tool else {})}


def body(calls: HttpCalls) -> str:
    """The request, with a mark for its id; for events it asks to be told of progress."""
    params: dict[str, Any] = dict(calls.call.params)
    if calls.answer == "sse":
        params["_meta"] = {"progressToken": "p"}
    return request("tools/call", params, handshake=calls.has_sessions)


def in_ascii(text: str) -> str:
    """JSON in the other spelling that is allowed: all but ASCII escaped, as `mcp` answers."""
    units = struct.unpack(f"<{len(text.encode('utf-16-le')) // 2}H", text.encode("utf-16-le"))
    return "".join(chr(unit) if unit < 128 else f"\\u{unit:04x}" for unit in units)


def http_plan(
    calls: HttpCalls,
    *,
    port: int,
    pid: int,
    sessions: list[str],
    seconds: float,
    deadline: float,
) -> str:
    """The plan by which http_load.c runs a workload on the server that listens there."""
    lines: list[list[object]] = [
        ["server", port, pid],
        ["connections", calls.connections],
        ["cores", "one" if calls.one_core else "all"],
        ["bounds", calls.max_calls, seconds, deadline],
        ["answer", calls.answer],
        ["expected", calls.call.expected],
        ["or", in_ascii(calls.call.expected)],
        ["request", body(calls)],
    ]
    named = headers(calls.revision, "tools/call", tool=calls.tool)
    lines += [["header", f"{name}: {value}"] for name, value in named.items()]
    lines += [["session", session] for session in sessions]
    return "".join("\t".join(map(str, line)) + "\n" for line in lines)


def at_a_time(connections: int) -> str:
    return "one by one" if connections == 1 else f"{connections} in flight"


def suffix(connections: int) -> str:
    return "" if connections == 1 else f"-{connections}"


def calling(answer: Answer, revision: Revision, *, connections: int) -> HttpCalls:
    """The row of one answer, one revision and one number of calls at a time."""
    return HttpCalls(
        f"http-{answer}-{revision[:4]}{suffix(connections)}",
        f"{answer.upper()}, {at_a_time(connections)}, {revision}",
        call=ADD if answer == "json" else ADD_WITH_PROGRESS,
        revision=revision,
        answer=answer,
        connections=connections,
    )


def all_calls(answer: Answer) -> tuple[HttpCalls, ...]:
    return (
        calling(answer, "2026-07-28", connections=1),
        calling(answer, "2026-07-28", connections=32),
        calling(answer, "2025-11-25", connections=1),
        calling(answer, "2025-11-25", connections=32),
    )


def spread(count: int, sessions: str) -> HttpCalls:
    return HttpCalls(
        f"http-sessions-{count}",
        f"JSON, 32 in flight, {sessions}",
        revision="2025-11-25",
        connections=32,
        sessions=count,
    )


def on_thread(connections: int) -> tuple[HttpCalls, HttpCalls]:
    """A plain function, and a coroutine beside it that does the same: the difference is what the
    thread costs."""
    how = at_a_time(connections)
    return (
        HttpCalls(
            f"http-sync{suffix(connections)}",
            f"sync tool, {how}",
            call=ADD_SYNC,
            revision="2026-07-28",
            connections=connections,
        ),
        HttpCalls(
            f"http-async{suffix(connections)}",
            f"the same as a coroutine, {how}",
            revision="2026-07-28",
            connections=connections,
        ),
    )


def mounted(revision: Revision, *, connections: int) -> HttpCalls:
    return HttpCalls(
        f"http-mounted-{revision[:4]}{suffix(connections)}",
        f"in Starlette, {at_a_time(connections)}, {revision}",
        revision=revision,
        connections=connections,
    )


def over_http(call: Calls) -> HttpCalls:
    """A call that is measured over stdio as well."""
    return HttpCalls(
        f"http-{call.name}",
        f"{call.title}, 32 in flight",
        call=call,
        revision="2026-07-28",
        connections=32,
    )


MESSAGES = (
    echoing("code", "echo of 2 KB of source code", text=SOURCE_CODE),
    echoing("letters", "echo of 2 KB of German and Chinese", text=GERMAN_AND_CHINESE),
    searching("structs", "50 items, as structs", tool="search_structs", count=50),
    searching("dataclasses", "50 items, as dataclasses", tool="search_dataclasses", count=50),
    searching("models", "50 items, as pydantic models", tool="search_models", count=50),
)

SLOW = BurstOfCalls(
    "http-slow",
    "1,000 tools of 0.1 s at once",
    "s",
    call=ADD_SLOWLY,
    revision="2026-07-28",
    connections=SLOW_CALLS,
    max_calls=SLOW_CALLS,
)
SESSION_MEMORY = HeldMemory(
    "http-session", "memory per idle session", "KiB", held="session", before=500, count=1000
)
STREAM_MEMORY = HeldMemory(
    "http-stream", "memory per open stream", "KiB", held="stream", before=100, count=400
)

HTTP_STAGES = (
    HttpStage(name="JSON over HTTP", workloads=all_calls("json")),
    HttpStage(name="SSE over HTTP", answer="sse", workloads=all_calls("sse")),
    HttpStage(name="messages over HTTP", models=True, workloads=tuple(map(over_http, MESSAGES))),
    HttpStage(name="sync tools over HTTP", workloads=(*on_thread(1), *on_thread(32))),
    HttpStage(
        name="mounted in Starlette",
        place="mounted",
        # Where everything is an app, ours is `toolhaft-asgi`; and granian runs no Starlette here.
        without=frozenset({"toolhaft", "limit-granian"}),
        workloads=(
            mounted("2026-07-28", connections=1),
            mounted("2026-07-28", connections=32),
            mounted("2025-11-25", connections=1),
            mounted("2025-11-25", connections=32),
        ),
    ),
    HttpStage(
        name="slow tools over HTTP",
        workloads=(SLOW,),
        slow_for=frozenset({"fastmcp"}),  # ten seconds and more
    ),
    HttpStage(
        name="sessions over HTTP",
        turns=3 * TURNS,  # a tenth, which matters here, is less than what two turns differ by
        workloads=(
            spread(1, "1 session"),
            spread(100, "100 sessions"),
            spread(1000, "1,000 sessions"),
        ),
    ),
    HttpStage(name="memory over HTTP", workloads=(SESSION_MEMORY, STREAM_MEMORY), rounds=2),
)

HTTP_WORKLOADS = tuple(workload for stage in HTTP_STAGES for workload in stage.workloads)

INITIALIZED = compact({"jsonrpc": "2.0", "method": "notifications/initialized"})
