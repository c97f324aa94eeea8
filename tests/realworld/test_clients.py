"""Real clients list and call the thirty tools over stdio: `mcp`, `fastmcp`, the Inspector."""

import json
import sys
from pathlib import Path
from typing import Any

import fastmcp
import mcp
import pytest
from fastmcp.client.transports import StdioTransport
from jsonschema import Draft202012Validator, FormatChecker
from tests.clients.inspector import inspect

ROOT = Path(__file__).parents[2]
SERVE = ["-m", "toolhaft", "run", str(Path(__file__).parent / "server.py")]

ARGUMENTS: dict[str, dict[str, Any]] = {
    "create_issue": {
        "owner": "ada",
        "repo": "engine",
        "title": "It is loud",
        "body": "Very.",
        "labels": ["bug"],
        "milestone": 3,
    },
    "list_pull_requests": {
        "owner": "ada",
        "repo": "engine",
        "state": "all",
        "base": "main",
        "direction": "asc",
        "per_page": 2,
    },
    "git_log": {"repo_path": "/src/engine", "since": "2026-05-01T12:00:00Z", "author": "grace"},
    "edit_file": {
        "path": "/notes/todo.txt",
        "edits": [
            {"old_text": "buy", "new_text": "get", "replace_all": True},
            {"old_text": "milk", "new_text": "tea"},
        ],
        "dry_run": True,
    },
    "fetch": {"url": "https://example.org", "max_length": 9, "start_index": 2},
    "run_command": {
        "command": ["echo", "hello", "$WHO"],
        "env": {"WHO": "Ada"},
        "timeout_seconds": 5,
    },
    "browser_click": {
        "selector": "#buy",
        "button": "right",
        "modifiers": ["Shift", "Alt"],
        "position": {"x": 1.5, "y": 2},
    },
    "web_search": {
        "query": "tea",
        "freshness": "year",
        "country": "NL",
        "safe_search": "strict",
    },
    "post_message": {
        "channel": "C1",
        "text": "ready",
        "mentions": ["U1", "U2"],
        "scheduled_for": "2026-01-01T00:01:00Z",
        "thread_ts": "17.5",
    },
    "send_email": {
        "to": ["ada@example.org"],
        "subject": "Hello",
        "body": "Text",
        "cc": ["nobody"],
        "attachments": [{"filename": "a.txt", "content": "abc"}],
        "priority": "high",
        "send_at": "2026-02-03T04:05:06Z",
    },
    "create_event": {
        "title": "Tea",
        "start": "2026-04-01T15:00:00Z",
        "end": "2026-04-01T15:45:00Z",
        "attendees": [{"email": "ada@example.org", "name": "Ada", "optional": True}],
        "recurrence": {"frequency": "weekly", "count": 2},
        "reminders_minutes": [10],
    },
    "translate_text": {
        "text": "good tea, good day",
        "target": "nl",
        "glossary": {"good": "goede", "tea": "thee"},
    },
    "query_database": {
        "sql": "select name, people / 1e3 as thousands, null as mayor from city where people > ?",
        "parameters": [80000],
    },
    "create_entities": {
        "entities": [
            {"name": "Ada", "entity_type": "person", "observations": []},
            {"name": "Moth", "entity_type": "animal", "observations": ["is dead"]},
        ]
    },
    "search_nodes": {"query": "a", "entity_types": ["person"]},
    "update_cells": {
        "spreadsheet_id": "s1",
        "range": "A1:C2",
        "values": [["a", 1, 2.5], [True, None, "=B1*2"]],
    },
    "describe_numbers": {"values": [4, 1, 2.5, 2.5], "percentiles": [50, 90], "sample": False},
    "vector_search": {
        "collection": "notes",
        "vector": [3, 4],
        "filter": {"lang": "en", "draft": True},
    },
    "convert_time": {
        "time": "2026-06-01T22:00:00Z",
        "source_timezone": "UTC",
        "target_timezone": "Asia/Kolkata",
    },
    "get_directions": {
        "origin": {"latitude": 52, "longitude": 4},
        "destination": {"latitude": 52, "longitude": 4.01},
        "waypoints": [{"latitude": 52.01, "longitude": 4}],
        "mode": "walking",
        "avoid": ["ferries"],
        "departure": "2026-06-01T08:00:00Z",
    },
    "get_forecast": {"latitude": 51, "longitude": 4.5, "start": "2026-12-31", "days": 2},
    "list_pods": {"labels": {"app": "web"}, "phase": "Running", "name_pattern": "web-*"},
    "run_container": {
        "image": "web:2",
        "command": ["serve"],
        "environment": {"PORT": "80"},
        "ports": [
            {"container_port": 80},
            {"container_port": 53, "host_port": 5353, "protocol": "udp"},
        ],
        "memory_mb": 64,
    },
    "put_object": {
        "bucket": "photos",
        "key": "a/b.txt",
        "body": "é",
        "metadata": {"by": "ada"},
        "storage_class": "STANDARD_IA",
    },
    "search_errors": {
        "organization": "acme",
        "level": "error",
        "since": "2026-02-01T00:00:00Z",
        "sort": "users",
    },
    "create_ticket": {
        "project": "ENG",
        "summary": "Oil it",
        "kind": "bug",
        "priority": 2,
        "estimate": 1.5,
        "due": "2026-07-01",
        "parent": 12,
        "fields": {"team": "gears"},
    },
    "append_blocks": {
        "page_id": "00000000-0000-0000-0000-00000000002a",
        "blocks": [
            {
                "kind": "bullet",
                "text": "one",
                "children": [{"kind": "to_do", "text": "two", "checked": True}],
            },
            {"kind": "code", "text": "three"},
        ],
    },
    "create_invoice": {
        "customer": "c1",
        "items": [
            {"description": "tea", "unit_amount": 250, "quantity": 3},
            {"description": "cup", "unit_amount": 1000, "quantity": 1},
        ],
        "tax_percent": 21,
        "due": "2026-08-01",
        "finalize": True,
    },
    "generate_image": {
        "prompt": "a moth",
        "width": 512,
        "count": 2,
        "style": "drawing",
        "seed": 41,
    },
    "set_lights": {
        "entity_ids": ["lamp", "desk"],
        "brightness": 128,
        "color": {"red": 1, "green": 2, "blue": 3},
    },
}

# A string is what a tool answers as text; anything else is structured.
ANSWERS: dict[str, Any] = {
    "create_issue": {
        "number": 15,
        "url": "https://git.example/ada/engine/issues/15",
        "title": "It is loud",
        "state": "open",
        "labels": ["bug"],
        "assignees": [],
        "milestone": 3,
    },
    "list_pull_requests": [
        {
            "number": 7,
            "title": "Read the file once",
            "state": "merged",
            "author": "ada",
            "base": "main",
            "head": "one-read",
            "draft": False,
            "created_at": "2026-03-01T09:30:00Z",
            "merged_at": "2026-03-02T16:00:00Z",
        },
        {
            "number": 9,
            "title": "Name the port",
            "state": "open",
            "author": "grace",
            "base": "main",
            "head": "ports",
            "draft": True,
            "created_at": "2026-03-04T08:00:00Z",
            "merged_at": None,
        },
    ],
    "git_log": [
        {
            "sha": "b2",
            "author": "grace",
            "email": "grace@example.org",
            "date": "2026-05-02T00:00:00Z",
            "message": "Second",
            "parents": ["a1"],
        }
    ],
    "edit_file": "/notes/todo.txt (dry run)\nget tea\nget bread\n",
    "fetch": "https://e",
    "run_command": {
        "exit_code": 0,
        "stdout": "hello Ada\n",
        "stderr": "",
        "duration_ms": 2,
        "timed_out": False,
    },
    "browser_click": "clicked #buy at 1.5,2 with Shift+Alt+right x1",
    "web_search": [
        {
            "title": "Tea",
            "url": "https://example.org/tea",
            "snippet": "How to make tea",
            "rank": 1,
            "published": "2026-01-05",
        },
        {
            "title": "Green tea",
            "url": "https://example.org/green",
            "snippet": "What green tea is",
            "rank": 2,
            "published": None,
        },
    ],
    "post_message": {
        "channel": "C1",
        "ts": "1767225660.000000",
        "text": "<@U1> <@U2> ready",
        "permalink": "https://chat.example/C1/1767225660.000000",
        "thread_ts": "17.5",
    },
    "send_email": {
        "message_id": "0bc767a3-439a-5a59-bc92-d7bf7b1a1ce1",
        "accepted": ["ada@example.org"],
        "rejected": ["nobody"],
        "size": 7,
        "priority": "high",
        "send_at": "2026-02-03T04:05:06Z",
    },
    "create_event": {
        "id": "d4b9756b-ffb7-5f5a-b5f2-ed6507b1b034",
        "title": "Tea",
        "start": "2026-04-01T15:00:00Z",
        "end": "2026-04-01T15:45:00Z",
        "minutes": 45,
        "attendees": [{"email": "ada@example.org", "name": "Ada", "optional": True}],
        "occurrences": ["2026-04-01", "2026-04-08"],
        "location": None,
    },
    "translate_text": {
        "text": "goede thee, goede day",
        "source": "en",
        "target": "nl",
        "characters": 18,
        "replaced": {"good": 2, "tea": 1},
    },
    "query_database": {
        "columns": ["name", "thousands", "mayor"],
        "rows": [["Delft", 104.0, None]],
        "row_count": 1,
        "truncated": False,
    },
    "create_entities": [{"name": "Moth", "entity_type": "animal", "observations": ["is dead"]}],
    "search_nodes": {
        "entities": [
            {"name": "Ada", "entity_type": "person", "observations": ["writes programs"]},
            {"name": "Grace", "entity_type": "person", "observations": ["found a moth"]},
        ],
        "relations": [{"source": "Grace", "target": "Ada", "relation_type": "admires"}],
    },
    "update_cells": {
        "spreadsheet_id": "s1",
        "updated_range": "A1:C2",
        "rows": 2,
        "columns": 3,
        "cells": 5,
        "formulas": 1,
    },
    "describe_numbers": {
        "count": 4,
        "mean": 2.5,
        "median": 2.5,
        "minimum": 1,
        "maximum": 4,
        "stdev": 1.061,
        "percentiles": {"p50": 2.5, "p90": 4},
    },
    "vector_search": [
        {
            "id": "00000000-0000-0000-0000-000000000002",
            "score": 0.8,
            "text": "north",
            "metadata": {"lang": "en", "page": 2, "draft": True},
        }
    ],
    "convert_time": {
        "source": "2026-06-01T22:00:00Z",
        "target": "2026-06-02T03:30:00Z",
        "difference_hours": 5.5,
        "next_day": True,
    },
    "get_directions": {
        "mode": "walking",
        "distance_m": 2680,
        "duration_s": 1914,
        "legs": [
            {
                "start": {"latitude": 52, "longitude": 4},
                "end": {"latitude": 52.01, "longitude": 4},
                "distance_m": 1110,
                "duration_s": 793,
            },
            {
                "start": {"latitude": 52.01, "longitude": 4},
                "end": {"latitude": 52, "longitude": 4.01},
                "distance_m": 1570,
                "duration_s": 1121,
            },
        ],
        "arrival": "2026-06-01T08:31:54Z",
    },
    "get_forecast": [
        {
            "day": "2026-12-31",
            "high": 13,
            "low": 5,
            "precipitation_mm": 0,
            "summary": "clouds",
        },
        {
            "day": "2027-01-01",
            "high": 14,
            "low": 6,
            "precipitation_mm": 4.5,
            "summary": "rain",
        },
    ],
    "list_pods": [
        {
            "name": "web-1",
            "namespace": "default",
            "phase": "Running",
            "node": "node-a",
            "labels": {"app": "web", "tier": "front"},
            "containers": [
                {"name": "web", "image": "web:2", "ready": True, "restarts": 0},
                {"name": "proxy", "image": "proxy:1", "ready": True, "restarts": 3},
            ],
        }
    ],
    "run_container": {
        "id": "9ac522d5e250",
        "name": "web-1",
        "image": "web:2",
        "command": ["serve"],
        "status": "running",
        "ports": [
            {"container_port": 80, "host_port": 30000, "protocol": "tcp"},
            {"container_port": 53, "host_port": 5353, "protocol": "udp"},
        ],
    },
    "put_object": {
        "bucket": "photos",
        "key": "a/b.txt",
        "etag": "4a99557e4033c353",
        "size": 2,
        "content_type": "text/plain",
        "storage_class": "STANDARD_IA",
        "metadata": {"by": "ada"},
    },
    "search_errors": [
        {
            "id": "00000000-0000-0000-0000-000000000007",
            "title": "KeyError: 'port'",
            "level": "error",
            "events": 12,
            "users": 3,
            "first_seen": "2026-02-01T10:00:00Z",
            "last_seen": "2026-02-03T11:30:00Z",
            "frames": [
                {"file": "app/config.py", "line": 41, "function": "port_of"},
                {"file": "app/main.py", "line": 9, "function": "main"},
            ],
        }
    ],
    "create_ticket": {
        "key": "ENG-6",
        "url": "https://tickets.example/ENG-6",
        "summary": "Oil it",
        "kind": "bug",
        "priority": 2,
        "estimate": 1.5,
        "due": "2026-07-01",
        "fields": {"team": "gears", "parent": "12"},
    },
    "append_blocks": 3,
    "create_invoice": {
        "id": "027eb444-bfc5-5f85-9f34-eb09aaaad16d",
        "customer": "c1",
        "currency": "eur",
        "items": [
            {"description": "tea", "unit_amount": 250, "quantity": 3},
            {"description": "cup", "unit_amount": 1000, "quantity": 1},
        ],
        "subtotal": 1750,
        "tax": 368,
        "total": 2118,
        "due": "2026-08-01",
        "status": "open",
    },
    "generate_image": [
        {
            "url": "https://images.example/drawing/41.png",
            "width": 512,
            "height": 1024,
            "seed": 41,
        },
        {
            "url": "https://images.example/drawing/42.png",
            "width": 512,
            "height": 1024,
            "seed": 42,
        },
    ],
    "set_lights": {
        "lamp": {
            "state": "on",
            "brightness": 128,
            "color": {"red": 1, "green": 2, "blue": 3},
        },
        "desk": {
            "state": "on",
            "brightness": 128,
            "color": {"red": 1, "green": 2, "blue": 3},
        },
    },
}

# One argument each that breaks a bound which the schema publishes.
OUT_OF_BOUNDS = {
    "web_search": {"query": "tea", "count": 21},
    "edit_file": {"path": "/notes/todo.txt", "edits": []},
    "put_object": {"bucket": "ab", "key": "k", "body": ""},
    "generate_image": {"prompt": "a moth", "width": 100},
    "create_invoice": {"customer": "c1", "items": [{"description": "x", "unit_amount": -1}]},
    "get_directions": {
        "origin": {"latitude": 91, "longitude": 0},
        "destination": {"latitude": 0, "longitude": 0},
    },
}

every_era = pytest.mark.parametrize("mode", ["auto", "legacy"])


def mcp_client(mode: str) -> mcp.Client:
    server = mcp.StdioServerParameters(command=sys.executable, args=SERVE, cwd=ROOT)
    return mcp.Client(server, mode=mode, read_timeout_seconds=20)


def fastmcp_client(mode: str) -> "fastmcp.Client[StdioTransport]":
    transport = StdioTransport(sys.executable, SERVE, cwd=str(ROOT), keep_alive=False)
    return fastmcp.Client(transport, mode=mode, timeout=20)


def answer(name: str, text: str, structured: Any) -> Any:
    """What a tool has answered; up to 2025-11-25 only an object can be sent as it is."""
    if isinstance(ANSWERS[name], str):
        return text if structured is None else structured
    wrapped = isinstance(structured, dict) and structured.keys() == {"result"}
    return structured["result"] if wrapped else structured


@every_era
async def test_the_client_of_mcp_calls_every_tool(mode: str) -> None:
    answers = {}
    async with mcp_client(mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        for name in names:
            result = await client.call_tool(name, ARGUMENTS[name])
            answers[name] = answer(name, result.content[0].text, result.structured_content)

    assert len(names) == 30
    assert answers == ANSWERS


@every_era
async def test_the_client_of_fastmcp_calls_every_tool(mode: str) -> None:
    answers = {}
    async with fastmcp_client(mode) as client:
        names = [tool.name for tool in await client.list_tools()]
        for name in names:
            result = await client.call_tool(name, ARGUMENTS[name])
            answers[name] = answer(name, result.content[0].text, result.structured_content)

    assert len(names) == 30
    assert answers == ANSWERS


async def test_what_the_tools_take_and_give_is_what_their_schemas_say() -> None:
    async with mcp_client("auto") as client:
        tools = (await client.list_tools()).tools

    problems = []
    for tool in tools:
        checks = [(tool.input_schema, ARGUMENTS[tool.name])]
        if tool.output_schema is not None:
            checks.append((tool.output_schema, ANSWERS[tool.name]))
        for schema, value in checks:
            validator = Draft202012Validator(schema, format_checker=FormatChecker())
            problems += [f"{tool.name}: {error.message}" for error in validator.iter_errors(value)]
    assert len(tools) == 30
    assert problems == []


async def test_a_value_out_of_bounds_breaks_the_schema_and_is_refused() -> None:
    refused = {}
    async with mcp_client("auto") as client:
        schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        for name, arguments in OUT_OF_BOUNDS.items():
            fits = Draft202012Validator(schemas[name]).is_valid(arguments)
            result = await client.call_tool(name, arguments)
            first = result.content[0].text.partition("\n")[0]
            refused[name] = (fits, first)

    assert refused == {name: (False, f"invalid arguments for {name}:") for name in OUT_OF_BOUNDS}


async def test_a_field_that_was_left_out_comes_back_with_its_default() -> None:
    arguments = {"customer": "c1", "items": [{"description": "cup", "unit_amount": 1000}]}

    async with mcp_client("auto") as client:
        result = await client.call_tool("create_invoice", arguments)

    assert result.structured_content["items"] == [
        {"description": "cup", "unit_amount": 1000, "quantity": 1}
    ]


# --- the Inspector --------------------------------------------------------------------------------

# Once per machine, the first of these tests installs what all of them need.
installs = pytest.mark.timeout(400)


def inspected(method: str, era: str, *options: str) -> dict[str, Any]:
    """What the command line of the Inspector prints."""
    return inspect([sys.executable, *SERVE], method, era, *options).json


@installs
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_accepts_the_schemas_strictly(era: str) -> None:
    listed = inspected("tools/list", era, "--strict")

    names = [tool["name"] for tool in listed["result"]["tools"]]
    found = {
        (finding["severity"], finding["rule"])
        for tool in listed.get("schemaFindings", [])
        for finding in tool["findings"]
    }
    assert names == list(ANSWERS)
    # It remarks, with no bearing on the verdict, that some providers cannot read a list of types.
    assert found <= {("warning", "type-union")}


@installs
@pytest.mark.parametrize(
    ("era", "name"),
    [
        ("legacy", "create_event"),
        ("legacy", "list_pull_requests"),
        ("modern", "append_blocks"),
        ("modern", "edit_file"),
    ],
)
def test_the_inspector_calls_a_tool(era: str, name: str) -> None:
    arguments = json.dumps(ARGUMENTS[name])

    called = inspected("tools/call", era, "--tool-name", name, "--tool-args-json", arguments)

    result = called["result"]
    text = result["content"][0]["text"]
    assert answer(name, text, result.get("structuredContent")) == ANSWERS[name]
