"""How contenders are served over HTTP: uvicorn on uvloop and httptools, one process, no logs."""

import sys
from typing import Any

import uvicorn


def port() -> int:
    """Where the benchmark wants the server to listen."""
    return int(sys.argv[1])


def wants_json() -> bool:
    """Whether a library that is told how to answer should answer with JSON, else with SSE."""
    return sys.argv[2] == "json"


def serve(app: Any) -> None:
    """Serve an ASGI app until the process is killed."""
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=port(),
        loop="uvloop",
        http="httptools",
        ws="none",
        log_level="critical",
        access_log=False,
        timeout_keep_alive=60,  # longer than a slow contender leaves a connection idle
    )
    uvicorn.Server(config).run()
