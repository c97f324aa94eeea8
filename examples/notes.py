"""Notes that come and go: explicit tools, and resources that change while clients are connected."""

from functools import partial
from typing import Any

from toolhaft import Arg, NotFound, ResourceHandle, Server, ToolError

server = Server("notes", version="1.0.0", instructions="Keeps notes, each as a resource.")

TITLE = Arg("title", str, "letters, digits and dashes")
TAGS = Arg("tags", list, "what it is about", items=Arg(type=str), optional=True)
STYLE = Arg(
    "style",
    dict,
    "how it looks",
    optional=True,
    properties=[
        Arg("colour", str, enum=["yellow", "green"]),
        Arg("large", bool, "in large letters", optional=True),
    ],
)


class Notes:
    """Keeps a handle for each note, to take it away again."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.handles: dict[str, ResourceHandle] = {}

    def read(self, title: str) -> str:
        """One note."""
        if title not in self.texts:
            raise NotFound(f"no note {title!r}")
        return self.texts[title]

    def write(self, title: str, text: str, tags: list[str] | None = None, style: Any = None) -> str:
        """Write a note, or write one anew."""
        if not title.replace("-", "").isalnum():
            raise ToolError(f"{title!r} has more than letters, digits and dashes")
        self.texts[title] = text
        uri = f"notes://all/{title}"
        colour = style["colour"] if style else "plain"
        described = f"{colour}, about {', '.join(tags or ['nothing'])}"
        if title in self.handles:
            self.handles[title].update(description=described)
            server.resource_updated(uri)
            return f"wrote {title} anew"
        self.handles[title] = server.add_resource(
            partial(self.read, title),
            uri,
            name=title,
            description=described,
            mime_type="text/plain",
        )
        return f"wrote {title}"

    def drop(self, title: str) -> str:
        """Throw a note away."""
        if title not in self.handles:
            raise ToolError(f"there is no note {title!r}")
        self.handles.pop(title).remove()
        del self.texts[title]
        return f"dropped {title}"

    def lock(self, locked: bool) -> str:
        """Let nobody write or drop, or let everybody again."""
        for name in ("write", "drop"):
            if locked:
                server.tools[name].disable()
            else:
                server.tools[name].enable()
        return "locked" if locked else "open"


notes = Notes()
server.add_tool(
    notes.write, category="notes", args=[TITLE, Arg("text", str, "what it says"), TAGS, STYLE]
)
server.add_tool(notes.drop, category="notes", args=[TITLE], destructive=True)
server.add_tool(notes.lock, category="notes", args=[Arg("locked", bool, "are notes read-only?")])
server.add_resource(notes.read, "notes://find/{title}", name="note", mime_type="text/plain")

if __name__ == "__main__":
    server.run()
