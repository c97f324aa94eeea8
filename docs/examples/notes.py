from toolhaft import Context, Image, Message, NotFound, Server, ToolError, user

server = Server("notes", version="1.0.0")

NOTES = {"milk": "Buy milk.", "tea": "Buy tea, and milk for it."}
DOT = bytes.fromhex("47494638396101000100800000ff0000ffffff2c00000000010001000002024401003b")


@server.tool(read_only=True)
async def find(words: list[str], ctx: Context, limit: int = 10) -> list[str]:
    """Titles of the notes that have all of these words."""
    found: list[str] = []
    for done, (title, text) in enumerate(NOTES.items(), start=1):
        await ctx.progress(done, len(NOTES), title)
        if all(word in text for word in words):
            found.append(title)
    if not found:
        await ctx.log("warning", "nothing was found")
    return found[:limit]


@server.tool
def write(title: str, text: str) -> str:
    """Keep a note."""
    if title in NOTES:
        raise ToolError(f"there is a note {title!r} already")
    NOTES[title] = text
    return f"kept {title}, {len(text)} characters"


@server.tool(read_only=True)
def dot() -> Image:
    """A picture of one dot."""
    return Image(DOT)


@server.resource("notes://dot", mime_type="image/gif")
def picture() -> bytes:
    """The same dot, to be read."""
    return DOT


@server.resource("notes://text/{title}", mime_type="text/plain")
def note(title: str) -> str:
    """One note."""
    if title not in NOTES:
        raise NotFound(f"there is no note {title!r}")
    return NOTES[title]


@server.prompt
def summary(title: str, tone: str = "friendly") -> list[Message]:
    """Ask for a summary of a note."""
    return [user(f"Sum this up in a {tone} tone:"), user(NOTES[title])]
