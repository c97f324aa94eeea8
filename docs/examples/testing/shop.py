from toolhaft import Accepted, Context, NotFound, Server, ToolError

server = Server("shop", version="1.0.0")
STOCK = {"boots": 3, "clogs": 0}


@server.tool
def price(pairs: int, each: float = 50.0) -> float:
    """What shoes cost."""
    if pairs < 1:
        raise ToolError("at least one pair")
    return pairs * each


@server.tool
async def order(model: str, ctx: Context) -> str:
    """Order shoes."""
    size = await ctx.elicit("Which size?", int)
    if not isinstance(size, Accepted):
        return "nothing ordered"
    await ctx.progress(1, 1, "packed")
    return f"{model} in {size.value}"


@server.resource("stock://{model}", mime_type="text/plain")
def stock(model: str) -> str:
    """How many pairs there are."""
    if model not in STOCK:
        raise NotFound(f"no such model: {model}")
    return str(STOCK[model])


if __name__ == "__main__":
    server.run()
