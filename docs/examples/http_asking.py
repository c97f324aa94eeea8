from toolhaft import Accepted, Context, Server

server = Server("greeter", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def greet(ctx: Context) -> str:
    """Say hello to the user."""
    name = await ctx.elicit("What is your name?", str, key="name")
    return f"Hello, {name.value}!" if isinstance(name, Accepted) else "Hello!"


if __name__ == "__main__":
    server.run(http="127.0.0.1:8000")
