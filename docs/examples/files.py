from pathlib import Path
from typing import Annotated

from toolhaft import NotFound, Server, Unsafe
from toolhaft.paths import safe_join

server = Server("files", version="1.0.0")

ROOT = Path(__file__).parent


@server.resource("source:///{+path}")
def source(path: str) -> str:
    """`{+path}` may hold slashes. A path that climbs out is refused before we see it."""
    file = safe_join(ROOT, path)
    if not file.is_file():
        raise NotFound(f"there is no file {path}")
    return file.read_text(encoding="utf-8")


@server.resource("revision://{range}")
def revisions(range: Annotated[str, Unsafe]) -> str:
    """`main/..` is a fine name of revisions, and no file is opened by it."""
    return f"the changes in {range}"
