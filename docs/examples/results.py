from dataclasses import dataclass

from toolhaft import Server
from toolhaft.types.content import ImageContent, TextContent

server = Server("weather", version="1.0.0")

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)


@dataclass
class Weather:
    degrees: float
    sky: str


@server.tool(read_only=True)
def describe(city: str) -> str:
    """Text is sent as text."""
    return f"In {city} it is mild."


@server.tool(read_only=True)
def measure(city: str) -> Weather:
    """Anything else is sent as structured content, and as JSON text beside it."""
    return Weather(18.5, f"clear over {city}")


@server.tool(read_only=True)
def draw(city: str) -> list[TextContent | ImageContent]:
    """Content blocks are sent as they are."""
    return [TextContent(f"The radar of {city}:"), ImageContent(PIXEL, "image/png")]
