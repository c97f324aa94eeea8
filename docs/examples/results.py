from dataclasses import dataclass

from toolhaft import Server

server = Server("weather", version="1.0.0")


@dataclass
class Weather:
    degrees: float
    sky: str


@server.tool
def describe(city: str) -> str:
    """Text is sent as text."""
    return f"In {city} it is mild."


@server.tool
def measure(city: str) -> Weather:
    """Anything else is sent as structured content, and as JSON text beside it."""
    return Weather(18.5, f"clear over {city}")
