import asyncio

from toolhaft import Server
from toolhaft.jsonrpc import ErrorCode, Failure, Request, Response, read

server = Server("messages", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def ping() -> str:
    """Ask this server something by hand, as a foreign transport would."""
    answer = await server.handle(Request(1, "ping").encode())
    match read(answer or b""):
        case Response(result=result):
            return f"answered: {result}"
        case Failure(code=ErrorCode.METHOD_NOT_FOUND):
            return "there is no ping"
        case other:
            return f"something else: {other}"


if __name__ == "__main__":
    print(asyncio.run(ping()))
