from dataclasses import dataclass
from pathlib import Path

from toolhaft import Server

server = Server("shapes", version="1.0.0")


@dataclass
class Circle:
    radius: float


@dataclass
class Box:
    width: float
    height: float


@server.tool
def draw(shapes: list[Circle | Box], into: Path = Path("out.svg")) -> str:
    """Draw some shapes. Which of them an object is, its members tell."""
    names = [type(shape).__name__ for shape in shapes]
    return f"{', '.join(names)} in {into.name}"
