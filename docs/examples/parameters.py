from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from toolhaft import Server

server = Server("shop", version="1.0.0")


@dataclass
class Address:
    street: str
    city: str
    country: str = "NL"


@server.tool
def order(
    article: Annotated[str, "the article number, as in the catalogue"],
    to: Address,
    count: Annotated[int, Meta(ge=1, le=99)] = 1,
    speed: Literal["normal", "express"] = "normal",
) -> str:
    """Order an article.

    The goods leave the house on the next working day.
    """
    return f"{count} x {article} to {to.city}, {speed}"
