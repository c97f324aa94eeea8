"""What the contenders are asked to do: requests, their expected answers, and how many at a time."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from messages import GERMAN_AND_CHINESE, SOURCE_CODE, Order, compact, message, meta_2026

# Every contender has these; the rest of the tools that a stage wants are fillers.
OWN_TOOLS = ("add", "add_sync", "echo", "search_structs", "search_dataclasses")

ID_MARK = "@ID@"  # where load.c writes the id of each request
MAX_CALLS = 200_000  # per phase; its seconds end it earlier on most machines
# In so many parts the calls of a stage are done, each part with some of every workload: a shared
# machine may be half as fast from one second to the next.
PARTS = 3

CLIENT = {"name": "bench", "version": "1"}
INITIALIZE_PARAMS = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}


@dataclass(frozen=True, eq=False)
class Workload:
    """One row of the tables."""

    name: str
    title: str
    unit: str = "calls/s"


@dataclass(frozen=True, kw_only=True, eq=False)
class Calls(Workload):
    """A row that is measured by sending one request again and again."""

    method: str = "tools/call"
    params: dict[str, Any]
    expected: str
    in_flight: int = 1
    # In which order a client writes the members of the request.
    order: Order = "python"
    # Calls one by one share a core with the load; load.h says why.
    one_core: bool = False


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One start of a server, and what it is measured by before it is stopped."""

    name: str
    workloads: tuple[Workload, ...]
    tools: int = len(OWN_TOOLS)
    handshake: bool = True  # `initialize` of 2025-11-25, else the envelope of 2026-07-28
    models: bool = False  # is there a tool that takes pydantic models as well?
    slow_for: frozenset[str] = frozenset()  # contenders that a quick run spares the stage

    @property
    def calls(self) -> list[Calls]:
        return [workload for workload in self.workloads if isinstance(workload, Calls)]

    @property
    def fillers(self) -> int:
        return self.tools - len(OWN_TOOLS)


START = Workload("start", "process start to first answer", "ms")
READY = Workload("ready", "process start to result of first call", "ms")
MEMORY = Workload("memory", "memory after start (RSS)", "MB")
# The same in CPU time: for toolhaft beside itself, where a few milliseconds count.
START_CPU = Workload("start-cpu", "process start to first answer", "ms")
READY_CPU = Workload("ready-cpu", "process start to result of first call", "ms")
IMPORT = Workload("import", "import, on top of bare Python (itself)", "ms")


def request(
    method: str, params: dict[str, Any], *, handshake: bool, order: Order = "python"
) -> str:
    """One request as a line with a mark for its id; `_meta` says the revision without handshake."""
    if not handshake:
        params = {**params, "_meta": {**meta_2026(CLIENT), **params.get("_meta", {})}}
    return message(ID_MARK, method, params, order).replace(f'"{ID_MARK}"', ID_MARK)


def text_content(text: str) -> str:
    """The bytes by which the text of a tool's result is found in an answer."""
    return '"text":' + compact(text)


def adding(name: str, title: str, *, tool: str = "add", **how: Any) -> Calls:
    params = {"name": tool, "arguments": {"a": 40123, "b": 2877}}
    return Calls(name, title, params=params, expected=text_content("43000"), **how)


def adding_steadily(name: str, title: str) -> Calls:
    """On one core all 64 have come whenever the server looks. Else it depends on the moment how
    many it finds at a time, which changes the CPU of a call by more than thousands of tools do."""
    return adding(name, title, in_flight=64, one_core=True)


# What is called before anything is measured: then everything is loaded.
FIRST = adding("first", "the first call")


def long_text(size: int) -> str:
    return ("The quick brown fox jumps over the lazy dog. " * (size // 45 + 1))[:size]


def echoing(name: str, title: str, *, text: str) -> Calls:
    params = {"name": "echo", "arguments": {"text": text}}
    return Calls(name, title, params=params, expected=text_content(text), one_core=True)


def searching(name: str, title: str, *, tool: str, count: int) -> Calls:
    items = [
        {"name": f"item {n}", "price": 100 + n, "quantity": n % 7, "tags": ["new", f"shelf {n}"]}
        for n in range(count)
    ]
    total = sum(100 + n for n in range(count) for _ in range(n % 7))
    params = {
        "name": tool,
        "arguments": {"query": {"text": "what it costs", "limit": 10, "items": items}},
    }
    return Calls(name, title, params=params, expected=text_content(str(total)), one_core=True)


def listing(name: str, title: str, *, count: int) -> Calls:
    last = f'"filler_{count - len(OWN_TOOLS) - 1:04}"'
    return Calls(name, title, method="tools/list", params={}, expected=last, one_core=True)


STARTS = Stage(name="start", workloads=(START, READY, MEMORY, START_CPU, READY_CPU))
CALLS = Stage(
    name="calls",
    workloads=(
        START,
        READY,
        MEMORY,
        adding("call", "call, one by one", one_core=True),
        adding("call-cores", "call, one by one, across cores"),
        adding("call-64", "call, 64 in flight", in_flight=64),
        adding("sync", "sync tool, one by one", tool="add_sync", one_core=True),
        adding("sync-64", "sync tool, 64 in flight", tool="add_sync", in_flight=64),
        adding("call-ts", "call as TypeScript writes it", order="typescript", one_core=True),
        echoing("code", "echo of 2 KB of source code", text=SOURCE_CODE),
        echoing("letters", "echo of 2 KB of German and Chinese", text=GERMAN_AND_CHINESE),
        searching("structs", "50 items, as structs", tool="search_structs", count=50),
        searching("dataclasses", "50 items, as dataclasses", tool="search_dataclasses", count=50),
        echoing("echo-1m", "echo of 1 MiB", text=long_text(1 << 20)),
    ),
)
CALLS_2026 = Stage(
    name="calls of 2026-07-28",
    handshake=False,
    workloads=(
        adding("call-2026", "call, one by one, 2026-07-28", one_core=True),
        adding("call-2026-64", "call, 64 in flight, 2026-07-28", in_flight=64),
    ),
)
# By itself, since pydantic has to be loaded for it.
MODELS = Stage(
    name="pydantic models",
    models=True,
    workloads=(
        searching("models", "50 items, as pydantic models", tool="search_models", count=50),
    ),
)
HUNDRED_TOOLS = Stage(
    name="100 tools",
    tools=100,
    workloads=(listing("list-100", "tools/list of 100 tools", count=100),),
)
TEN_TOOLS = Stage(
    name="10 tools",
    tools=10,
    workloads=(adding_steadily("tools-10", "64 in flight, 10 tools registered"),),
)
THOUSANDS_OF_TOOLS = Stage(
    name="5,000 tools",
    tools=5000,
    slow_for=frozenset({"mcp", "fastmcp"}),  # ten seconds and more, just to register them
    workloads=(adding_steadily("tools-5000", "64 in flight, 5,000 tools registered"),),
)

# From one group to the next contenders take turns; all of a group each does in a row, so that its
# stages can be compared.
GROUPS = (
    (STARTS,),
    (CALLS,),
    (MODELS,),
    (CALLS_2026,),
    (HUNDRED_TOOLS,),
    (TEN_TOOLS, THOUSANDS_OF_TOOLS),
)

_ROWS = (calls for group in GROUPS for stage in group for calls in stage.calls)
WORKLOADS = (START, READY, IMPORT, MEMORY, *_ROWS)


def matching(patterns: list[str], workloads: tuple[Workload, ...]) -> tuple[Workload, ...]:
    """The workloads whose name matches one of the shell patterns, in the order of the tables."""
    return tuple(
        workload
        for workload in workloads
        if any(fnmatchcase(workload.name, pattern) for pattern in patterns)
    )


def phase_name(calls: Calls, part: int) -> str:
    return f"{calls.name} ({part + 1} of {PARTS})"


def plan(stage: Stage, wanted: tuple[Workload, ...], *, seconds: float, deadline: float) -> str:
    """The plan by which load.c runs those workloads of a stage that are wanted.

    Args:
        seconds: for each of them, in all.
    """
    hello = ("initialize", INITIALIZE_PARAMS) if stage.handshake else ("server/discover", {})
    lines = [["deadline", deadline], ["hello", request(*hello, handshake=stage.handshake)]]
    if stage.handshake:
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        lines.append(["notify", compact(initialized)])
    first = request(FIRST.method, FIRST.params, handshake=stage.handshake)
    lines.append(["first", FIRST.expected, first])
    for part in range(PARTS):
        for calls in stage.calls:
            if calls in wanted:
                cores = "one" if calls.one_core else "all"
                line = request(
                    calls.method, calls.params, handshake=stage.handshake, order=calls.order
                )
                name = phase_name(calls, part)
                head = ["phase", name, calls.in_flight, cores, MAX_CALLS, seconds / PARTS]
                lines.append([*head, calls.expected, line])
    return "".join("\t".join(map(str, line)) + "\n" for line in lines)
