from toolhaft import Embedded, File, Image, Link, Result, Server, Text

server = Server("radar", version="1.0.0")

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)


@server.tool
def draw() -> bytes:
    """Bytes are looked at: this is a PNG, so it is sent as an image."""
    return PIXEL


@server.tool
def show(city: str) -> list[str | Image]:
    """Text and pictures in one result."""
    return [f"The radar of {city}:", Image(PIXEL)]


@server.tool
def report(city: str) -> list[Text | File | Link | Embedded]:
    """A word to the user alone, a file, a link, and a resource with what it holds."""
    return [
        Text("Rain is near.", audience=["user"], priority=1),
        File(b"hour,mm\n9,0.2\n", name="rain.csv"),
        Link(f"weather://{city}/today", title="Today, hour by hour"),
        Embedded("weather://units", "mm, degrees Celsius"),
    ]


@server.tool
def warn(city: str) -> Result:
    """All parts of a result, as you want them."""
    return Result(
        f"Storm over {city}.",
        structured={"level": 3},
        meta={"example.org/source": "radar"},
    )
