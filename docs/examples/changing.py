from toolhaft import Server

server = Server("plugins", version="1.0.0")


def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@server.tool
def learn() -> str:
    """Every change of a list is told to the clients that follow it."""
    server.add_tool(shout, replace=True)
    return "there is a tool named shout now"


@server.tool
def forget() -> str:
    """Undo it."""
    server.remove_tool("shout")
    return "gone"
