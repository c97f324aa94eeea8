"""A tool that does something in the world, and asks."""

from typing import Any

from toolhaft import Accepted, Context, Server


class Mailer:
    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, to: str) -> str:
        self.sent.append(to)
        return to

    async def post(self, to: str, *, twice: bool = False) -> str:
        self.sent.append(to)
        return to


def made(function: Any) -> Server:
    server = Server("s")
    server.add_tool(function, name="tool")
    return server


async def name(ctx: Context) -> str:
    answer = await ctx.elicit("Name?", str)
    return answer.value if isinstance(answer, Accepted) else type(answer).__name__
