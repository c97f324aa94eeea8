# pyright: strict
"""Mistakes that type checkers must find: one on each line that ends in `# wrong`, and no others."""

from toolhaft import (
    Cache,
    Context,
    Depends,
    Icon,
    Image,
    Limits,
    Link,
    Message,
    NotFound,
    ResourceError,
    Result,
    Server,
    ToolError,
    user,
)

Server()  # wrong
Server("x", colour="red")  # wrong
Server("x", errors="hide")  # wrong
Server("x", page_size="10")  # wrong
Limits(message_bytes="4 MiB")  # wrong
Limits(10)  # wrong
Cache(60, "shared")  # wrong
Icon()  # wrong
ToolError()  # wrong
NotFound("gone", uri=1)  # wrong
user(3)  # wrong
Message("system", "x")  # wrong
Image(3)  # wrong
Link()  # wrong
Result(3)  # wrong
ResourceError("gone")  # wrong
Depends(3)  # wrong

server = Server("x")
server.tool("name")  # wrong
server.tool(nme="x")  # wrong
server.tool(read_only="yes")  # wrong
server.tool(timeout="1 s")  # wrong
server.tool(tags="a", limit="many")  # wrong
server.tool(input_schema="object")  # wrong
server.resource()  # wrong
server.resource("x://y", cache="long")  # wrong
server.prompt(titel="x")  # wrong
server.add_tool(3)  # wrong
server.run(framing="xml")  # wrong


@server.tool
def add(a: int, b: int) -> int:
    return a + b


add("1", 2)  # wrong
add(1)  # wrong
text: str = add(1, 2)  # wrong


@server.tool(title="Wait")
async def wait(ctx: Context) -> str:
    await ctx.progress("half")  # wrong
    await ctx.log("loud", "x")  # wrong
    await ctx.sync.progress(1)  # wrong
    ctx.client.name = "me"  # wrong
    await ctx.elicit(3, str)  # wrong
    await ctx.sample("Hi", max_tokens="many")  # wrong
    await ctx.ask(name="Name?")  # wrong
    await ctx.step("add", add, "1", 2)  # wrong
    return "done"


def opened() -> int:
    return 1


def depends(text: str = Depends(opened)) -> str:  # wrong
    return text


async def ask() -> None:
    await server.handle(3)  # wrong
