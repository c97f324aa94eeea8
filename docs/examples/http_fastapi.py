from fastapi import FastAPI

from toolhaft import Server

server = Server("demo", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


app = FastAPI()


@app.get("/")
def home() -> str:
    return "a page of your own"


app.mount("/", server.asgi("/mcp"))  # last: it answers whatever is left
