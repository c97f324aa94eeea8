from datetime import date

from toolhaft import Server

server = Server("diary", version="1.0.0")


@server.tool
def note(text: str, day: date = date.today, tags: list[str] = list) -> str:  # type: ignore[assignment]
    """A default that can be called is called, anew for each call."""
    tags.append("diary")
    return f"{day.isoformat()} {text} {tags}"
