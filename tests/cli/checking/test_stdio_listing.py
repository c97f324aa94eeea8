"""What `toolhaft check` is answered over stdio, in both eras."""

import contextlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.cli.checking.checks import checked, said

Json = dict[str, Any]


def test_an_era_that_is_not_answered_is_found(tmp_path: Path) -> None:
    report = checked(
        tmp_path,
        """
        async def refuse(exchange, call):
            if exchange.method == "initialize":
                raise ValueError("no")
            return await call(exchange)

        server = Server("tested", version="1.0.0", middleware=[refuse])
        """,
    )

    assert said(report, "protocol")[0][0] == "error"


@pytest.mark.parametrize(
    ("method", "answer", "told"),
    [
        ("tools/list", {"tool": []}, "tools/list: the server's result has no list 'tools': {"),
        ("tools/list", {"tools": [{}]}, "tools/list: the server sent what is none: Object missing"),
        ("initialize", {}, "initialize: the server's result has no object 'serverInfo': {"),
        ("server/discover", {}, "server/discover: the server's result has no object 'capab"),
        (
            "server/discover",
            {"_meta": None, "capabilities": {}},
            "server/discover: the server's result has no object '_meta': {",
        ),
        (
            "tools/list",
            {"tools": [], "nextCursor": {}},
            "tools/list: the server's nextCursor is no text: {}",
        ),
        ("tools/call", {"content": None}, "tools/call: the server's result has no list 'content'"),
        (
            "tools/call",
            {"content": [{"type": "text"}]},
            "tools/call: the server sent a text block without a text: {'type': 'text'}",
        ),
    ],
)
def test_an_answer_that_is_none_is_named(
    tmp_path: Path, method: str, answer: Json, told: str
) -> None:
    report = checked(
        tmp_path,
        f"""
        async def twist(exchange, call):
            result = await call(exchange)
            twisted = {json.dumps(answer).encode()!r}
            return twisted if exchange.method == {method!r} else result

        server = Server("tested", version="1.0.0", middleware=[twist])
        server.add_tool(lambda: 1, name="one", description="One.", read_only=True)
        """,
        "--call",
    )

    [(level, where, what)] = said(report, "protocol")
    assert (level, where) == ("error", "server")
    assert what.startswith(told)


@pytest.mark.parametrize(
    "place",
    ["", "server = Server('tested', version='1', lifespan=begins)"],
    ids=["loaded", "lifespan"],
)
def test_a_server_may_start_a_process_of_its_own(tmp_path: Path, place: str) -> None:
    """Which holds the pipes of the server for as long as it likes."""
    source = f"""
        def begin():
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
            with open("pids", "a") as file:
                file.write(f"{{child.pid}}\\n")

        @contextlib.asynccontextmanager
        async def begins(server):
            begin()
            yield

        {place or "begin()"}
        """
    try:
        report = checked(tmp_path, source, "--timeout", "20")
    finally:
        for pid in (tmp_path / "pids").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)

    assert said(report, "protocol", "lifespan") == []
