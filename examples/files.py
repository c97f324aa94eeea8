"""The files of a directory, by an object that has its lists and handlers in its own hands.

`FILES_ROOT` says which directory; by default it is the current one. Nothing outside of it is read,
whatever the path says, and neither is a link that leads out.
"""

import os
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from toolhaft import Arg, NotFound, ResourceInfo, Server, ToolError, ToolInfo
from toolhaft.paths import safe_join

MOST = 1000
PATH = Arg("path", str, "relative to the directory", optional=True)
FOUND = {
    "type": "object",
    "properties": {"paths": {"type": "array", "items": {"type": "string"}}},
    "required": ["paths"],
}


class Files:
    """An advanced service: `tools` and `call_tool`, `resources` and `read_resource`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def tools(self) -> list[ToolInfo]:
        """What can be done with files."""
        pattern = Arg("pattern", str, "as in *.txt", optional=True)
        return [
            ToolInfo(
                "read",
                "Read a text file.",
                args=[Arg("path", str, "relative to the directory")],
                read_only=True,
            ),
            ToolInfo(
                "find",
                "Find files in a directory and below.",
                args=[PATH, pattern],
                output_schema=FOUND,
                read_only=True,
            ),
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """Do it."""
        path = self.inside(arguments.get("path", "."))
        if name == "read":
            try:
                return path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ToolError(f"cannot read {arguments['path']!r}: {reason(error)}") from None
        return {"paths": self.below(path, arguments.get("pattern", "*"))}

    def resources(self) -> list[ResourceInfo]:
        """Every file, as it is listed now."""
        return [
            ResourceInfo(f"dir:///{quote(path)}", path, size=(self.root / path).stat().st_size)
            for path in self.below(self.root, "*")
        ]

    def templates(self) -> list[ResourceInfo]:
        """Files by their paths, also those beyond the list."""
        return [ResourceInfo("dir:///{+path}", "file", "A file by its path.")]

    def read_resource(self, uri: str) -> str | bytes:
        """What is in a file; text if it is text."""
        try:
            data = safe_join(self.root, unquote(uri.partition(":///")[2])).read_bytes()
        except OSError:
            raise NotFound(f"no file at {uri}") from None
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data

    def inside(self, path: str) -> Path:
        """A path in the directory, and nowhere else."""
        try:
            return safe_join(self.root, path)
        except NotFound:
            raise ToolError(f"{path!r} is not in the directory") from None

    def below(self, folder: Path, pattern: str) -> list[str]:
        """The files in a folder and below, without those that a link leads to elsewhere."""
        files = (each for each in folder.rglob("*") if fnmatch(each.name, pattern))
        own = (each for each in files if each.is_file() and self.root in each.resolve().parents)
        return sorted(each.relative_to(self.root).as_posix() for each in own)[:MOST]


def reason(error: Exception) -> str:
    """Why, without the paths of this machine."""
    return (error.strerror or "no such file") if isinstance(error, OSError) else "it is no text"


server = Server(
    "files", version="1.0.0", providers=[Files(Path(os.environ.get("FILES_ROOT", ".")))]
)

if __name__ == "__main__":
    server.run()
