from toolhaft import Server, ToolError

server = Server("shop", version="1.0.0")
PRICES = {"tea": 3.5, "milk": 1.2}


@server.tool(read_only=True)
def price(article: str) -> float:
    """What an article costs."""
    if article not in PRICES:
        raise ToolError(f"we do not sell {article}")
    return PRICES[article]


@server.tool(read_only=True)
def busy() -> str:
    """How busy the shop is."""
    asked = server.metrics["tools/call:price"]
    return f"{asked.calls} asked for a price, {asked.errors} in vain"
