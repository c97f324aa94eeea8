"""The benchmark's tools on toolhaft as an ASGI app like any other, on uvicorn as it comes."""

from http_serving import serve
from http_toolhaft import server

if __name__ == "__main__":
    app = server.asgi(path="/mcp", sessions="auto")
    serve(app, lifespan=app.lifespan)
