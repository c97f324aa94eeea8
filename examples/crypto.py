"""Hashes and Base64, by an object that answers `tools/list` and `tools/call` itself.

Nothing has to be remembered of a client, so there are no sessions: `sessions="stateless"`.
"""

import hashlib
import os
from base64 import b64decode, b64encode
from typing import Any

from toolhaft import Server, ToolError, ToolInfo

ALGORITHMS = ["md5", "sha1", "sha256", "sha384", "sha512"]
TEXT = {"type": "string", "description": "the text"}


class Crypto:
    """An advanced service: it says what there is, and does it."""

    def tools(self) -> list[ToolInfo]:
        """The list, with schemas as they shall be published."""
        algorithm = {"type": "string", "enum": ALGORITHMS, "default": "sha256"}
        operation = {"type": "string", "enum": ["encode", "decode"], "default": "encode"}
        return [
            ToolInfo("hash_text", "Hash a text.", input_schema=_schema(algorithm=algorithm)),
            ToolInfo(
                "base64", "Encode or decode Base64.", input_schema=_schema(operation=operation)
            ),
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        """Arguments fit the schema of the tool by now."""
        text: str = arguments["text"]
        if name == "hash_text":
            return hashlib.new(arguments.get("algorithm", "sha256"), text.encode()).hexdigest()
        if arguments.get("operation", "encode") == "encode":
            return b64encode(text.encode()).decode()
        try:
            return b64decode(text, validate=True).decode()
        except ValueError as error:
            raise ToolError(f"this is not Base64 of a text: {error}") from None


def _schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"text": TEXT, **properties}, "required": ["text"]}


server = Server("crypto", version="1.0.0")
server.include(Crypto())


if __name__ == "__main__":
    port = os.environ.get("HTTP_PORT", "8080")
    server.run(http=port, sessions="stateless")
