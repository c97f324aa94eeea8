"""How contenders are served over HTTP: uvicorn on uvloop and httptools, one process, no logs."""

import sys
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount


def port() -> int:
    """Where the benchmark wants the server to listen."""
    return int(sys.argv[1])


def wants_json() -> bool:
    """Whether a library that is told how to answer should answer with JSON, else with SSE."""
    return sys.argv[2] == "json"


def is_mounted() -> bool:
    """Whether the app should be one of several in another one."""
    return sys.argv[3] == "mounted"


def serve(app: Any, lifespan: Any = None) -> None:
    """Serve an ASGI app until the process is killed.

    Args:
        lifespan: what a host has to enter that holds the app; Starlette does not by itself.
    """
    if is_mounted():  # at the root, so that the path of the app stays what it is
        app = Starlette(routes=[Mount("/", app)], lifespan=lifespan)
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
