from toolhaft import Context, Server, ToolError

server = Server("handles", version="1.0.0")


def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper() + "!"


handle = server.add_tool(shout)


@server.tool
def quiet(on: bool) -> str:
    """Forbid shouting, or allow it again."""
    if on:
        handle.disable()
    else:
        handle.enable()
    return "sh!" if on else "go on"


@server.tool
def teach(ctx: Context, word: str) -> str:
    """Add a tool that says a word."""
    if word in server.tools:
        raise ToolError(f"{word} is known already")
    ctx.server.add_tool(lambda: word, name=word, description=f"Say {word}.")
    return f"call {word}"
