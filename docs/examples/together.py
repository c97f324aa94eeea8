import asyncio
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from toolhaft import Ask, Context, Elicit, Roots, Server, Titles

server = Server("travel", version="1.0.0")

Class = Annotated[Literal["1", "2"], Titles({"1": "First class", "2": "Second class"})]


@dataclass
class Traveller:
    name: Annotated[str, "As in the passport."]
    age: Annotated[int, Meta(ge=0)]
    meals: Literal["none", "vegan", "any"] = "any"


@server.tool
async def book(ctx: Context) -> str:
    """Ask for several things at once."""
    answers = await ctx.ask(who=Elicit("Who travels?", Traveller), where=Roots())
    return f"{answers['who']} in {len(answers['where'])} folders"


@server.tool
async def compare(ctx: Context) -> str:
    """Questions of tasks that run side by side go out together as well."""
    async with asyncio.TaskGroup() as group:
        out = group.create_task(ctx.elicit("There, in which class?", Class))
        back = group.create_task(ctx.elicit("And back?", Class))
    return f"{out.result()} {back.result()}"


@server.tool
def reserve(
    seat: Annotated[str, Ask("Which seat?")], coach: Annotated[int, Ask("Coach?")] = 1
) -> str:
    """The user fills these parameters; the model does not see them."""
    return f"{seat} in coach {coach}"
