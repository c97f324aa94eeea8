from toolhaft import Server

server = Server("door", version="1.0.0")

STATE = {"door": "closed"}


@server.resource("house://door")
def door() -> str:
    """Open or closed."""
    return STATE["door"]


@server.tool
def turn(state: str) -> str:
    """Open or close the door, and tell everybody who follows it."""
    STATE["door"] = state
    server.resource_updated("house://door")
    return f"the door is {state}"
