import math
from pathlib import Path
from typing import Any

from toolhaft import Limits, Server

server = Server("measure", version="1.0.0", limits=Limits(result_bytes=1000))


@server.tool
def ratio(a: float, b: float) -> float:
    """Promises a number."""
    return a / b if b else math.nan


@server.tool
def ratios(a: float, b: float) -> dict[str, Any]:
    """Promises nothing but an object."""
    return {"ratio": a / b if b else math.nan, "of": {b}, "from": Path("table.csv")}


@server.tool
def dump(lines: int) -> str:
    """Returns too much, if it is asked for that."""
    return "all work and no play\n" * lines
