# pyright: strict
"""Mistakes that type checkers must find: one on each line that ends in `# wrong`, and no others."""

from toolhaft import (
    Arg,
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
    ToolInfo,
    ToolProvider,
    resource,
    tool,
    user,
)

Server()  # wrong
Server("x", colour="red")  # wrong
Server("x", errors="hide")  # wrong
Server("x", page_size="10")  # wrong
Limits(message_bytes="4 MiB")  # wrong
Limits(10)  # wrong
Limits(mesage_bytes=10)  # wrong
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


Arg("x", str, enum=3)  # wrong
Arg("x", str, "what it is", optional="yes")  # wrong
ToolInfo()  # wrong
ToolInfo("x", read_only="yes")  # wrong
ToolInfo("x", timeout="1 s")  # wrong
Arg("x", str, complete=["a"])  # wrong
tool(colour="red")  # wrong
tool(read_only="yes")  # wrong
resource()  # wrong
server.add_tool(add, args=["x"])  # wrong
server.tools["x"].update(titel="x")  # wrong
server.tools[3]  # wrong
server.include(add, prefix=3)  # wrong


class Marked:
    @tool
    def add(self, a: int) -> int:
        return a


Marked().add("1")  # wrong


@tool(title="Twice")
def twice(number: int) -> int:
    return 2 * number


twice("1")  # wrong
number: str = twice(1)  # wrong
server.add_tool(add).update(timeout="1 s")  # wrong


class NoList:
    def tools(self) -> int:
        return 3

    def call_tool(self, name: str) -> str:
        return name


provider: ToolProvider = NoList()  # wrong
