"""What a plain server loads: no more than it needs, for whoever starts one waits for it."""

import json
import subprocess
import sys

# Loaded by those who need it, and when they do.
SPARED = {
    "copy",
    "dataclasses",
    "hashlib",
    "random",
    "secrets",
    "toolhaft.server.include_server",
    "toolhaft.observe.prometheus",
    "toolhaft.features.elicitation.questions",
    "toolhaft.features.context",
    "toolhaft.features.elicitation.forms",
    "toolhaft.features.functions.header_check",
    "toolhaft.features.providers.entries",
    "toolhaft.features.session_data",
    "toolhaft.features.providers.object_provider",
    "toolhaft.features.elicitation.manual_rounds",
    "toolhaft.features.elicitation.steps",
    "toolhaft.server.include_object",
    "toolhaft.jsonrpc",
    "toolhaft.server.decorators",
    "toolhaft.protocol.http.rules",
    "toolhaft.protocol.elicitation.request_state",
    "toolhaft.transports.http.app",
    "toolhaft.schema.validation.validator",
    "toolhaft.schema.validation.supported",
    "toolhaft.traffic",
    "urllib.parse",
}
# By those who serve.
LATER = {"asyncio", "logging", "toolhaft.protocol.peer", "toolhaft.calls.driver"}

SERVER = """
import json, sys
from toolhaft import Server

server = Server("plain", version="1")
before = sorted(sys.modules)

@server.tool
async def loaded(before_it_served: bool) -> list[str]:
    return before if before_it_served else sorted(sys.modules)

server.run()
"""


def loaded(*, before_it_served: bool) -> set[str]:
    """The modules in a process that serves over stdio, as a call sees them."""
    version, client = "2025-11-25", {"name": "test", "version": "1"}
    opening = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    call = {"name": "loaded", "arguments": {"before_it_served": before_it_served}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call},
    ]
    sent = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    ended = subprocess.run(
        [sys.executable, "-c", SERVER], input=sent, capture_output=True, text=True, check=True
    )
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    return set(
        next(each for each in answers if each["id"] == 3)["result"]["structuredContent"]["result"]
    )


def test_a_server_that_is_made_has_loaded_what_every_server_needs() -> None:
    found = loaded(before_it_served=True)

    assert "toolhaft.server.server" in found
    assert found & (SPARED | LATER) == set()


def test_a_server_that_answers_has_loaded_nothing_that_it_does_not_use() -> None:
    found = loaded(before_it_served=False)

    assert found >= LATER
    assert found & SPARED == set()
