from toolhaft import Contents, Server

server = Server("albums", version="1.0.0")

GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"


@server.resource("album://{name}")
def album(name: str) -> list[Contents]:
    """Several contents under one URI, each with a type and a URI of its own."""
    return [
        Contents(f"# {name}", mime_type="text/markdown"),
        Contents(GIF, uri=f"album://{name}/cover"),
    ]


@server.resource("album://{name}/cover")
def cover(name: str) -> bytes:
    """Bytes are sent as a blob, with the type that they show."""
    return GIF


@server.resource("tag://{name}", raw=True)
def tag(name: str) -> str:
    """`raw` keeps the percent escapes of the client."""
    return name
