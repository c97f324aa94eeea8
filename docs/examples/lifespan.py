import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from toolhaft import Context, Limits, Server


@asynccontextmanager
async def database(server: Server) -> AsyncGenerator[sqlite3.Connection]:
    """Entered when serving begins, left when it ends; what it yields is `ctx.lifespan`."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("create table note (text)")
    try:
        yield connection
    finally:
        connection.close()


server = Server(
    "notes",
    version="1.0.0",
    lifespan=database,
    limits=Limits(message_bytes=1024 * 1024, threads=8),
)


@server.tool
def remember(text: str, ctx: Context) -> int:
    """Keep a note; the answer is how many there are."""
    connection: sqlite3.Connection = ctx.lifespan
    connection.execute("insert into note values (?)", (text,))
    [(count,)] = connection.execute("select count(*) from note")
    return int(count)
