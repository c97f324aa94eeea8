"""MCP servers in Python: the handle by which a language model holds your program.

    from toolhaft import Context, Server

    server = Server("demo", version="1.0.0")

    @server.tool
    def add(a: int, b: int) -> int:
        "Add two numbers."
        return a + b

    @server.resource("notes://{name}")
    def note(name: str) -> str: ...

    @server.prompt
    def review(code: str) -> str: ...

    @server.tool
    async def order(ctx: Context) -> str:
        answer = await ctx.elicit("How many?", int)  # Accepted, Declined or Cancelled
        ...

    server.run()                        # over stdin and stdout
    server.run(http="127.0.0.1:8000")   # over HTTP; `Listener` and `server.asgi()` do more
    server.attach()                     # in a program that goes on: `toolhaft attach demo`

`help(toolhaft.Server)` has the rest; `toolhaft.testing` has a client for tests; `toolhaft --help`
runs, calls, checks and installs servers from the shell.

Inside, imports point down only:

    cli/ testing/           the command, the kit for tests
    client/                 what speaks to servers, for these two
    server.py listener.py   and all beside them: what an author uses
    features/ | runtime/    what a server offers | asyncio, threads, sockets, HTTP
    schema/ | protocol/     types and JSON Schema | the rules of the protocol; no I/O in either
    types/ errors.py jsonrpc.py envelope.py patterns.py   words that all of them use

A call comes in as bytes in `runtime/stdio.py` or `runtime/posting.py`. `protocol/peer.py` makes a
`Call` of it, `runtime/driver.py` runs that, by the table in `server.py` that has a handler for each
method; `features/tools.py` has the one of `tools/call`, and `schema/` has read its signature. A new
method is a handler in `features/`, a row in that table, a struct in `types/` for its parameters,
and a row in `protocol/revisions.py`, which says who knows it.

A name is loaded when it is first asked for, so that whoever wants a part, or only the command line,
does not wait for the rest. Type checkers read `__init__.pyi`.
"""

from importlib import import_module as _import

from .undisturbed import Undisturbed as _Undisturbed

_HOMES = {
    ".about": ("REVISIONS",),
    ".attachment": ("Attachment",),
    ".errors": (
        "InternalError",
        "InvalidParams",
        "InvalidRequest",
        "McpError",
        "MethodNotFound",
        "MissingCapability",
        "NotFound",
        "PromptError",
        "ResourceError",
        "ToolError",
        "Unauthorized",
    ),
    ".features.arguments": ("Arg",),
    ".features.asking": (
        "Accepted",
        "Cancelled",
        "Declined",
        "Elicit",
        "ElicitUrl",
        "Roots",
        "Sample",
        "Sampled",
        "SampleTool",
        "ToolAnswer",
    ),
    ".features.completer": (
        "Complete",
        "Completion",
    ),
    ".features.content": (
        "Audio",
        "Contents",
        "Embedded",
        "File",
        "Image",
        "Link",
        "Result",
        "Text",
    ),
    ".features.context": (
        "Client",
        "Context",
    ),
    ".features.depends": (
        "Depends",
        "Header",
    ),
    ".features.forms": ("Titles",),
    ".features.infos": (
        "PromptInfo",
        "ResourceInfo",
        "ToolInfo",
    ),
    ".features.keeping": ("SessionData",),
    ".features.messages": (
        "Message",
        "assistant",
        "user",
    ),
    ".features.parameters": ("Unsafe",),
    ".features.prompts": ("PromptResult",),
    ".features.providing": (
        "PromptProvider",
        "ResourceProvider",
        "ToolProvider",
    ),
    ".features.resources": ("Cache",),
    ".features.signs": (
        "Ask",
        "InputRequired",
    ),
    ".handles": (
        "Inclusion",
        "PromptHandle",
        "ResourceHandle",
        "ToolHandle",
    ),
    ".listener": ("Listener",),
    ".marks": (
        "prompt",
        "resource",
        "tool",
    ),
    ".protocol.limits": ("Limits",),
    ".server": ("Server",),
    ".types.asking": (
        "Root",
        "ToolUse",
    ),
    ".types.wire": ("Icon",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll]
# For which the metadata of the package have to be found and read.
_HOME_OF["__version__"] = ".about"


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _Undisturbed():
        module = _import(home, __name__)
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOME_OF]
