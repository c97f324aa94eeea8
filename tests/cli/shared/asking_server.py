"""A server that asks, and a person at a terminal."""

import os
import select
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 20.0


ASKING = """
    from dataclasses import dataclass
    from typing import Annotated, Literal
    from toolhaft import Accepted, Titles

    @dataclass
    class Seat:
        row: int
        side: Annotated[Literal["l", "r"], Titles(l="Left", r="Right")] = "l"
        quiet: bool = False
        note: str | None = None

    @server.tool
    async def book(ctx: Context) -> str:
        return repr(await ctx.elicit("Which seat?", Seat))

    @server.tool
    async def twice(ctx: Context) -> str:
        first = await ctx.elicit("First?", str)
        second = await ctx.elicit("Second?", str)
        return f"{first} {second}"

    @server.tool
    async def several(ctx: Context) -> str:
        return repr(await ctx.elicit("Which?", list[Literal["a", "b", "c"]]))

    @server.tool
    async def pay(ctx: Context) -> str:
        return repr(await ctx.elicit_url("Pay, please.", "https://example.org/pay"))

    @server.tool
    async def adapt(ctx: Context) -> str:
        return "asks" if ctx.client.can("elicitation.form") else "does without"

    @server.tool
    async def think(ctx: Context) -> str:
        return (await ctx.sample("hello")).text

    @server.tool
    async def folders(ctx: Context) -> str:
        return repr(await ctx.roots())
"""


def at_terminal(folder: Path, typed: list[str], *words: str) -> tuple[int, str, str]:
    """The exit status, stdout and what the terminal shows, for a person who types these lines.

    Each is typed when something was asked: when the terminal shows a text that ends with `: `.
    """
    master, slave = os.openpty()
    command = [sys.executable, "-m", "toolhaft", "call", "author.py", *words]
    with subprocess.Popen(
        command, cwd=folder, stdin=slave, stderr=slave, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        os.close(slave)
        shown, left, deadline = "", list(typed), time.monotonic() + PATIENCE
        try:
            while time.monotonic() < deadline:
                if not select.select([master], [], [], 0.1)[0]:
                    continue
                try:
                    data = os.read(master, 4096)
                except OSError:  # nobody has the other end open any more
                    break
                shown += data.decode()
                if shown.endswith(": ") and left:
                    os.write(master, left.pop(0).encode())
            assert process.stdout is not None
            assert left == [], shown
            stdout = process.stdout.read()
            status = process.wait(PATIENCE)
        finally:
            process.kill()
            os.close(master)
    return status, stdout, shown.replace("\r\n", "\n")
