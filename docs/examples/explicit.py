from toolhaft import Arg, Server

server = Server("search", version="1.0.0")

FOLDER = Arg("folder", str, "where to begin")
DEEP = Arg("deep", bool, "also in the folders inside")


def search(pattern, mode="plain", lines=None, where=None):  # type: ignore[no-untyped-def]
    return f"{pattern} {mode} {lines} {where}"


server.add_tool(
    search,
    description="Look for something.",
    args=[
        Arg("pattern", str, "what to look for"),
        Arg("mode", str, "how", enum=["plain", "regex"], optional=True),
        Arg("lines", list, items=Arg(type=int), optional=True),
        Arg("where", dict, properties=[FOLDER, DEEP], optional=True),
    ],
)
