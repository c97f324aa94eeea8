"""Servers with a traffic log, and its lines."""

import json
from pathlib import Path
from typing import Any

from toolhaft import Context, Server
from toolhaft.traffic import TrafficLog

Json = dict[str, Any]


def lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def logged(tmp_path: Path, frame: bytes, **options: Any) -> Json:
    """What is written of one message."""
    path = tmp_path / "log"
    log = TrafficLog(path, **options)
    log.message("in", "1", frame)
    log.close()
    [line] = lines(path)
    return line


def tools(**options: Any) -> Server:
    server = Server("notes", version="1", **options)

    @server.tool
    async def login(user: str, password: str, ctx: Context) -> Json:
        await ctx.progress(1)
        return {"user": user, "token": "t0p"}

    return server
