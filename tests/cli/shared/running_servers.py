"""Servers that run already: over HTTP, and attached to a process."""

COUNTER = """
    from typing import Annotated
    from msgspec import Meta

    count = 0

    @server.tool
    def up(by: int = 1) -> int:
        \"\"\"Count.\"\"\"
        global count
        count += by
        return count

    @server.tool
    def fail() -> str:
        raise ToolError("it broke")

    @server.tool
    def where(region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})]) -> str:
        return region

    @server.resource("notes://all", mime_type="text/plain")
    def notes() -> str:
        return "all of it"

    @server.prompt
    def review(diff: str) -> str:
        return f"look: {diff}"
"""


ATTACHED = (
    COUNTER
    + """
    server.attach(name="counter")
    say("attached")
    while True:
        time.sleep(1)
"""
)
