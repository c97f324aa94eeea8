"""The server that every transcript talks to.

Names are registered in alphabetical order, so that a transcript of a list does not depend on
whether lists are sorted by name or kept in the author's order.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from toolhaft import Complete, Context, NotFound, Server, ToolError


@dataclass
class Report:
    """The answer of the tool `weather`."""

    city: str
    celsius: int


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


_BREAKS: dict[str, BaseException] = {
    "KeyboardInterrupt": KeyboardInterrupt("secret"),
    "MemoryError": MemoryError("secret"),
    "RecursionError": RecursionError("secret"),
    "StopIteration": StopIteration("secret"),
}


async def breaks(how: str) -> str:
    """Raise what a tool should not raise."""
    raise _BREAKS[how]


async def count(n: int, ctx: Context) -> str:
    """Count to n, with progress."""
    for number in range(1, n + 1):
        await ctx.progress(number, total=n, message=f"{number} of {n}")
    return "done"


async def crashes() -> str:
    """Fail with a bug."""
    raise ValueError("secret")


async def echo(text: str) -> str:
    """Say it again."""
    return text


async def exits() -> str:
    """Try to end the process."""
    raise SystemExit(3)


async def fails() -> str:
    """Fail in a way that the caller may know."""
    raise ToolError("no such city")


async def ids() -> list[int]:
    """List the ids."""
    return [1, 2, 3]


async def liar() -> int:
    """Return what the own schema forbids."""
    wrong: Any = "seven"
    return wrong


async def opaque():
    """Return what JSON cannot say."""
    return object()


def shout(text: str) -> str:
    """Say it in capitals, in a plain function."""
    return text.upper()


async def stumble(ctx: Context) -> str:
    """Report progress that does not always increase."""
    for number in (1, 1, 0, 2):
        await ctx.progress(number)
    return "done"


async def surrogate() -> str:
    """Return text that UTF-8 cannot say."""
    return "\ud800"


async def talk(ctx: Context) -> str:
    """Log at several levels."""
    await ctx.log("debug", "looking")
    await ctx.log("info", "found")
    await ctx.log("warning", {"left": 3}, logger="stock")
    await ctx.log("error", "lost")
    return "said"


async def wait() -> str:
    """Wait forever."""
    await asyncio.Event().wait()
    return "never"


async def weather(city: str) -> Report:
    """Tell the weather."""
    return Report(city, 7)


async def app() -> str:
    """The settings."""
    return "debug = true"


async def broken() -> str:
    """A resource with a bug."""
    raise ValueError("secret")


async def logo() -> bytes:
    """The logo."""
    return b"\x89PNG"


def known_notes(value: str, given: dict[str, str]) -> list[str]:
    """Complete the id of a note; "many" has more matches than an answer may hold."""
    if value == "many":
        return [f"many-{number}" for number in range(150)]
    return [name for name in ("first", "fourth", "second") if name.startswith(value)]


async def note(id: Annotated[str, Complete(known_notes)]) -> str:
    """One note."""
    if id == "missing":
        raise NotFound("no such note")
    return f"note {id}"


def known_people(value: str, given: dict[str, str]) -> list[str]:
    """Complete a name, with a title if the style is formal."""
    prefix = "Dr. " if given.get("style") == "formal" else ""
    return [prefix + name for name in ("Ann", "Anton", "Bob") if name.startswith(value)]


async def greet(
    name: Annotated[str, "Whom to greet.", Complete(known_people)],
    style: Literal["formal", "casual"] = "casual",
) -> str:
    """Greet somebody."""
    return f"Good day, {name}." if style == "formal" else f"Hi {name}!"


async def part() -> str:
    """Say goodbye."""
    return "Bye!"


async def extra() -> str:
    """Added while the server runs."""
    return "extra"


ICON = {"src": "https://example.org/icon.png", "mimeType": "image/png", "sizes": ["48x48"]}

_TOOLS: dict[Any, dict[str, Any]] = {
    add: {},
    breaks: {},
    count: {},
    crashes: {},
    echo: {},
    exits: {},
    fails: {},
    ids: {},
    liar: {},
    opaque: {},
    shout: {},
    stumble: {},
    surrogate: {},
    talk: {},
    wait: {},
    weather: {
        "title": "Weather",
        "read_only": True,
        "icons": [ICON],
        "meta": {"example.org/kind": "report"},
    },
}
_RESOURCES: dict[Any, dict[str, Any]] = {
    app: {
        "uri": "config://app",
        "title": "Settings",
        "mime_type": "text/plain",
        "icons": [ICON],
        "meta": {"example.org/kind": "settings"},
    },
    broken: {"uri": "config://broken", "mime_type": "text/plain"},
    logo: {"uri": "data://logo", "mime_type": "image/png"},
    note: {
        "uri": "note://{id}",
        "title": "Note",
        "mime_type": "text/plain",
        "icons": [ICON],
        "meta": {"example.org/kind": "note"},
    },
}
_PROMPTS: dict[Any, dict[str, Any]] = {
    greet: {"title": "Greeting", "icons": [ICON], "meta": {"example.org/kind": "greeting"}},
    part: {},
}


def make(
    page_size: int | None = None,
    *,
    only: Collection[str] | None = None,
    gate: asyncio.Event | None = None,
) -> Server:
    """Build the server.

    Args:
        only: the names of the functions to register; all of them if not given.
        gate: what the tool `hold` waits for.
    """

    async def hold() -> str:
        """Wait until the transcript says `! open_gate`."""
        await (gate or asyncio.Event()).wait()
        return "held"

    server = Server(
        "fixture",
        version="1.2.3",
        title="Fixture",
        description="A server for transcripts.",
        instructions="Ask for the weather.",
        website_url="https://example.org/",
        icons=[ICON],
        page_size=page_size,
    )
    tools = sorted([*_TOOLS.items(), (hold, {})], key=lambda item: item[0].__name__)
    for function, keywords in tools:
        if only is None or function.__name__ in only:
            server.tool(**keywords)(function)
    for function, keywords in _RESOURCES.items():
        if only is None or function.__name__ in only:
            options = dict(keywords)
            server.resource(options.pop("uri"), **options)(function)
    for function, keywords in _PROMPTS.items():
        if only is None or function.__name__ in only:
            server.prompt(**keywords)(function)
    return server
