from enum import Enum

from toolhaft import Accepted, Context, Server

server = Server("pizzeria", version="1.0.0")


class Size(Enum):
    SMALL = "s"
    EXTRA_LARGE = "xl"


def reserve(table: int) -> str:
    """Something that must not be done twice."""
    return f"table {table}"


@server.tool
async def order(count: int, ctx: Context) -> str:
    """Order pizzas."""
    size = await ctx.elicit("Which size?", Size)
    if not isinstance(size, Accepted):
        return "Nothing was ordered."
    reserved = await ctx.step("reserve", reserve, 4)
    sure = await ctx.elicit(f"{count} pizzas at {reserved}?", bool)
    if sure != Accepted(True):
        return "Nothing was ordered."
    return f"{count} pizzas, {size.value.name}, at {reserved}."
