from toolhaft import Server

server = Server("rough", version="1.0.0", instructions="Finds notes.")


@server.tool(name="notes.find", read_only=True)
def find(words: list, limit: int = 10) -> list[str]:
    return []


@server.tool(read_only=True)
def count(kind) -> int:  # type: ignore[no-untyped-def]
    """How many notes there are."""
    return 0
