import hashlib
from base64 import b64encode
from typing import Any

from toolhaft import Arg, Server, ToolInfo

TEXT = Arg("text", str, "what to work on")


class Crypto:
    """Two tools, and full control of their schemas and results."""

    def tools(self) -> list[ToolInfo]:
        algorithm = Arg("algorithm", str, enum=["sha256", "md5"], optional=True)
        return [
            ToolInfo("hash", "Hash a text.", args=[TEXT, algorithm], read_only=True),
            ToolInfo("encode", "Write a text in Base64.", args=[TEXT], read_only=True),
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        data = arguments["text"].encode()
        if name == "encode":
            return b64encode(data).decode()
        return hashlib.new(arguments.get("algorithm", "sha256"), data).hexdigest()


server = Server("crypto", version="1.0.0", providers=[Crypto()])
