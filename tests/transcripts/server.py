"""The server that every transcript talks to.

Names are registered in alphabetical order, so that a transcript of a list does not depend on
whether lists are sorted by name or kept in the author's order.
"""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec

from toolhaft import (
    Accepted,
    Complete,
    Context,
    Elicit,
    Icon,
    InvalidParams,
    NotFound,
    Roots,
    Server,
    ToolError,
)


@dataclass
class Report:
    """The answer of the tool `weather`."""

    city: str
    celsius: int


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


_BREAKS: dict[str, Callable[[str], BaseException]] = {
    "BaseExceptionGroup": lambda text: BaseExceptionGroup(text, [SystemExit(text)]),
    "CancelledError": asyncio.CancelledError,
    "GeneratorExit": GeneratorExit,
    "KeyboardInterrupt": KeyboardInterrupt,
    "MemoryError": MemoryError,
    "RecursionError": RecursionError,
    "StopAsyncIteration": StopAsyncIteration,
    "StopIteration": StopIteration,
    "SystemExit": SystemExit,
}


async def breaks(how: str) -> str:
    """Raise what a tool should not raise."""
    raise _BREAKS[how]("secret")


async def count(n: int, ctx: Context) -> str:
    """Count to n, with progress."""
    for number in range(1, n + 1):
        await ctx.progress(number, total=n, message=f"{number} of {n}")
    return "done"


_CALLER: ContextVar[str] = ContextVar("_CALLER", default="nobody")


async def claim(name: str) -> str:
    """Set a context variable and say what it was before."""
    before = _CALLER.get()
    _CALLER.set(name)
    return before


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


async def group() -> str:
    """Use a task group."""
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(echo("a"))
        second = tasks.create_task(echo("b"))
    return first.result() + second.result()


async def ids() -> list[int]:
    """List the ids."""
    return [1, 2, 3]


async def liar() -> int:
    """Return what the own schema forbids."""
    wrong: Any = "seven"
    return wrong


async def linger(ctx: Context) -> str:
    """Wait forever, and do not take cancellation for an answer."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        with suppress(Exception):
            await ctx.progress(1)
            await ctx.log("emergency", "cancelled")
    return "late"


async def mumble(ctx: Context) -> str:
    """Log what JSON cannot say."""
    await ctx.log("error", object())
    return "said"


async def opaque():
    """Return what JSON cannot say."""
    return object()


async def quit_task() -> str:
    """Cancel the task that runs the tool, then return as if nothing was."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    return "gone"


async def refuse() -> str:
    """Refuse with an error of the protocol."""
    raise InvalidParams("not on a Sunday")


def shout(text: str) -> str:
    """Say it in capitals, in a plain function."""
    return text.upper()


def snap(how: str) -> str:
    """Raise what a tool should not raise, in a plain function."""
    raise _BREAKS[how]("secret")


async def silent():
    """Return nothing."""


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


async def timed() -> str:
    """Give up waiting after a moment."""
    try:
        async with asyncio.timeout(0.001):
            await asyncio.Event().wait()
    except TimeoutError:
        return "timed out"
    return "never"


async def unreal() -> float:
    """Return a number that JSON does not have."""
    return float("nan")


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


async def gone() -> str:
    """A resource that tries to end the process."""
    raise SystemExit(3)


async def logo() -> bytes:
    """The logo."""
    return b"\x89PNG"


def known_notes(value: str, given: dict[str, str]) -> list[str]:
    """Complete the id of a note; "many" has more matches than an answer may hold."""
    if value == "bug":
        raise ValueError("secret")
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


async def spoil() -> str:
    """A prompt with a bug."""
    raise ValueError("secret")


async def extra() -> str:
    """Added while the server runs."""
    return "extra"


class Size(Enum):
    """The answer to `order`."""

    SMALL = "s"
    LARGE = "l"


@dataclass
class Address:
    """The answer to `deliver`."""

    street: Annotated[str, "Street and number."]
    floor: Annotated[int, msgspec.Meta(ge=0)] = 0


async def consult(question: str, ctx: Context) -> str:
    """Ask a model."""
    said = await ctx.sample(question, max_tokens=50, key="model")
    return f"{said.model} says: {said.text}"


async def deliver(ctx: Context) -> str:
    """Ask where to, and from where."""
    answers = await ctx.ask(to=Elicit("Where to?", Address), at=Roots())
    return f"{answers['to']} from {[root.uri for root in answers['at']]}"


async def order(ctx: Context) -> str:
    """Ask which size, then how many."""
    size = await ctx.elicit("Which size?", Size, key="size")
    if not isinstance(size, Accepted):
        return "nothing"
    count = await ctx.elicit("How many?", int, key="count")
    return f"{count.value if isinstance(count, Accepted) else 1} of {size.value.name}"


def order_plainly(ctx: Context) -> str:
    """Ask on a thread."""
    size = ctx.sync.elicit("Which size?", Size, key="size")
    return size.value.name if isinstance(size, Accepted) else type(size).__name__


async def pay(ctx: Context) -> str:
    """Send the user to a page."""
    answer = await ctx.elicit_url("Pay there.", "https://example.org/pay")
    return type(answer).__name__


async def survey(ctx: Context) -> str:
    """A prompt that asks."""
    topic = await ctx.elicit("What about?", Literal["bees", "birds"], key="topic")
    return f"Ask me about {topic.value if isinstance(topic, Accepted) else 'anything'}."


async def secret(ctx: Context) -> str:
    """A resource that asks."""
    word = await ctx.elicit("The word?", str, key="word")
    return "open" if word == Accepted("sesame") else "closed"


ICON = Icon("https://example.org/icon.png", mime_type="image/png", sizes=["48x48"])

_TOOLS: dict[Callable[..., Any], dict[str, Any]] = {
    add: {},
    breaks: {},
    claim: {},
    count: {},
    crashes: {},
    echo: {},
    exits: {},
    fails: {},
    group: {},
    ids: {},
    liar: {},
    linger: {},
    mumble: {},
    opaque: {},
    quit_task: {},
    refuse: {},
    shout: {},
    silent: {},
    snap: {},
    stumble: {},
    surrogate: {},
    talk: {},
    timed: {},
    unreal: {},
    wait: {},
    weather: {
        "title": "Weather",
        "read_only": True,
        "icons": [ICON],
        "meta": {"example.org/kind": "report"},
    },
}
_RESOURCES: dict[Callable[..., Any], dict[str, Any]] = {
    app: {
        "uri": "config://app",
        "title": "Settings",
        "mime_type": "text/plain",
        "icons": [ICON],
        "meta": {"example.org/kind": "settings"},
    },
    broken: {"uri": "config://broken", "mime_type": "text/plain"},
    gone: {"uri": "config://gone", "mime_type": "text/plain"},
    logo: {"uri": "data://logo", "mime_type": "image/png"},
    note: {
        "uri": "note://{id}",
        "title": "Note",
        "mime_type": "text/plain",
        "icons": [ICON],
        "meta": {"example.org/kind": "note"},
    },
}
_PROMPTS: dict[Callable[..., Any], dict[str, Any]] = {
    greet: {"title": "Greeting", "icons": [ICON], "meta": {"example.org/kind": "greeting"}},
    part: {},
    spoil: {},
}
# Only there if they are asked for, for no list has them.
_ASKING: dict[Callable[..., Any], Callable[[Server, Callable[..., Any]], object]] = {
    **dict.fromkeys((consult, deliver, order, order_plainly, pay), Server.add_tool),
    survey: Server.add_prompt,
    secret: lambda server, function: server.add_resource(function, "secret://word"),
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
        gate: what the tools `hold` and `trail` wait for.
    """
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
    tools = _TOOLS | {tool: {} for tool in _gated(gate or asyncio.Event())}
    for tool, options in sorted(tools.items(), key=lambda item: item[0].__name__):
        if only is None or tool.__name__ in only:
            server.tool(**options)(tool)
    for resource, options in _RESOURCES.items():
        if only is None or resource.__name__ in only:
            server.resource(**options)(resource)
    for prompt, options in _PROMPTS.items():
        if only is None or prompt.__name__ in only:
            server.prompt(**options)(prompt)
    for function, add in _ASKING.items():
        if only is not None and function.__name__ in only:
            add(server, function)
    return server


def _gated(gate: asyncio.Event) -> list[Callable[..., Any]]:
    """Make the tools that wait until the transcript says `! open_gate`."""
    trailing: set[asyncio.Task[None]] = set()

    async def hold() -> str:
        """Wait for the gate."""
        await gate.wait()
        return "held"

    async def trail(what: Literal["progress", "log"], ctx: Context) -> str:
        """Return at once, and report progress or log when the gate opens."""

        async def report() -> None:
            await gate.wait()
            with suppress(Exception):
                await (ctx.progress(1) if what == "progress" else ctx.log("emergency", "late"))

        trailing.add(asyncio.create_task(report()))
        return "gone ahead"

    return [hold, trail]
