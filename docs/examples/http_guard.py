from collections.abc import Mapping
from hashlib import sha256

from toolhaft import Context, Server, Unauthorized

server = Server("guarded", version="1.0.0")

# Names by the digests of their tokens, so that this file gives no token away.
NAMES = {
    "9c220f200955d76c0a38d308225e0ef10c5f971acaf2f8d1d8f732affa5bd1dc": "alice",
    "97dd3707015dcf069cf73022ed7173b1165db6eff24b441cb57fd069a8c4e525": "bob",
}


def guard(headers: Mapping[str, str]) -> str:
    """Who sends this request, by its headers."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    name = NAMES.get(sha256(token.encode()).hexdigest())
    if scheme.lower() != "bearer" or name is None:
        raise Unauthorized("send a token: Authorization: Bearer …")
    return name


@server.tool
def whoami(ctx: Context) -> str:
    """Who you are."""
    return str(ctx.principal)


if __name__ == "__main__":
    server.run(http="127.0.0.1:8000", guard=guard)
