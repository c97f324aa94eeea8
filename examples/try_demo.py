"""Start the demo as a client does, talk to it, and show both sides of the wire.

Standard library only: what a client sends is nothing but a line of JSON.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "toolhaft", "run", str(Path(__file__).with_name("demo.py"))]


class Wire:
    """The two pipes of a server, with everything that passes through them shown."""

    def __init__(self, server: "subprocess.Popen[str]") -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        self._to, self._from = server.stdin, server.stdout
        self._id = 0

    def notify(self, method: str) -> None:
        """Send what is not answered."""
        self._send({"jsonrpc": "2.0", "method": method})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        line = self._from.readline()
        if not line:
            sys.exit("the server has ended without an answer")
        answer = json.loads(line)
        print("<-", json.dumps(answer, ensure_ascii=False))
        if "error" in answer:
            sys.exit(f"the server refused {method}")
        result: dict[str, Any] = answer["result"]
        return result

    def _send(self, message: dict[str, Any]) -> None:
        text = json.dumps(message, ensure_ascii=False)
        print("->", text)
        self._to.write(text + "\n")
        self._to.flush()


def play(wire: Wire) -> None:
    """A short session, and then a request that needs none."""
    print("# a client shakes hands first, as up to revision 2025-11-25")
    wire.ask(
        "initialize",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "try_demo", "version": "1"},
        },
    )
    wire.notify("notifications/initialized")

    print("\n# it looks at the tools")
    tools = wire.ask("tools/list", {})["tools"]
    print("#", ", ".join(tool["name"] for tool in tools))

    print("\n# and calls one")
    call = {"name": "add", "arguments": {"a": 1, "b": 2}}
    print("# 1 + 2 =", wire.ask("tools/call", call)["content"][0]["text"])

    print("\n# the same without a handshake, as in revision 2026-07-28")
    envelope: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    answer = wire.ask("tools/call", {**call, "_meta": envelope})
    print("# 1 + 2 =", answer["content"][0]["text"])


def main() -> int:
    """Play against a server of our own; the result is the exit status."""
    print("$ toolhaft run examples/demo.py")
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as server:
        try:
            play(Wire(server))
        finally:
            assert server.stdin is not None
            server.stdin.close()  # the end of input is the end of the server
        status = server.wait(10)
    print(f"\n# the server has ended with status {status}")
    return status


if __name__ == "__main__":
    sys.exit(main())
