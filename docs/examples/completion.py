from collections.abc import Mapping
from typing import Annotated, Literal

from toolhaft import Complete, Server

server = Server("travel", version="1.0.0")

CITIES = {"France": ["Lyon", "Paris"], "Italy": ["Milan", "Padua", "Rome"]}


def countries(typed: str) -> list[str]:
    return [name for name in CITIES if name.lower().startswith(typed.lower())]


async def cities(typed: str, given: Mapping[str, str]) -> list[str]:
    """The second parameter holds the arguments that are filled in already."""
    known = CITIES.get(given.get("country", ""), [])
    return [name for name in known if name.lower().startswith(typed.lower())]


@server.prompt
def plan(
    country: Annotated[str, Complete(countries)],
    city: Annotated[str, Complete(cities)],
    by: Literal["train", "tram", "boat"] = "train",
) -> str:
    """Plan a journey. A `Literal` or an `Enum` completes by itself."""
    return f"Plan a journey to {city} in {country} by {by}."


@server.resource("travel://{country}")
def country(country: Annotated[str, Complete(countries)]) -> str:
    """Variables of a template complete in the same way."""
    return "\n".join(CITIES.get(country, []))
