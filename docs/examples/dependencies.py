import sqlite3
from collections.abc import Iterator
from typing import Annotated

from toolhaft import Depends, Server, ToolError

server = Server("library", version="1.0.0")


def settings() -> dict[str, str]:
    return {"database": ":memory:"}


def database(config: Annotated[dict[str, str], Depends(settings)]) -> Iterator[sqlite3.Connection]:
    """A dependency may have dependencies. What follows the `yield` is done after the call."""
    connection = sqlite3.connect(config["database"])
    connection.execute("create table book (title)")
    connection.executemany("insert into book values (?)", [("The Sea",), ("The Sky",)])
    try:
        yield connection
    finally:
        connection.close()


def shelf(word: str) -> str:
    """`word` is the argument of the tool."""
    if not word.isalpha():
        raise ToolError("one word, please, of letters alone")
    return f"%{word}%"


Database = Annotated[sqlite3.Connection, Depends(database)]


@server.tool
def find(word: str, database: Database, pattern: Annotated[str, Depends(shelf)]) -> list[str]:
    """Find books by a word in their titles."""
    found = database.execute("select title from book where title like ?", [pattern])
    return [title for (title,) in found]
