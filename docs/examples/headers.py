from typing import Annotated

from toolhaft import Context, Depends, Header, Server

server = Server("tenants", version="1.0.0")


def tenant(name: Annotated[str, Header("X-Tenant")] = "nobody") -> str:
    """A header of the HTTP request; over stdio there are none, so it has a default."""
    return name


@server.tool
def whoami(ctx: Context, who: Annotated[str, Depends(tenant)]) -> str:
    """All headers are in `ctx.headers`, by their names in small letters."""
    return f"{who}, with {len(ctx.headers)} headers"
