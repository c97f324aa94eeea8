"""The bare ASGI app on granian, in one process with one thread for its network."""

import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.server.embed import Server
from http_limit import app
from http_serving import port

if __name__ == "__main__":
    server = Server(
        app,
        address="127.0.0.1",
        port=port(),
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=False,
        backlog=2048,  # as many as uvicorn's
        log_enabled=False,
    )
    uvloop.run(server.serve())
