from toolhaft import Icon, Server

server = Server("files", version="1.0.0")


@server.tool(
    title="Delete files",
    destructive=True,
    idempotent=True,
    category="files",
    tags=["danger"],
    icons=[Icon("https://example.org/bin.png", mime_type="image/png")],
    meta={"example.org/owner": "storage"},
    cache=60,
)
def delete(pattern: str) -> str:
    """Delete all files that match a pattern."""
    return f"deleted {pattern}"
