from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from toolhaft import Server

server = Server("demo", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def home(request: Request) -> PlainTextResponse:
    return PlainTextResponse("a page of your own")


app = Starlette(routes=[Route("/", home), Route("/mcp", server.asgi())])
