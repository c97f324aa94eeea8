# pyright: strict
"""Mistakes that type checkers must find: one on each line that ends in `# wrong`, and no others."""

from toolhaft import Cache, Context, Icon, Limits, NotFound, Server, ToolError, user

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

server = Server("x")
server.tool("name")  # wrong
server.tool(nme="x")  # wrong
server.tool(read_only="yes")  # wrong
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
    return "done"


async def ask() -> None:
    await server.handle(3)  # wrong
