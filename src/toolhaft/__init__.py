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

    cli/  testing/                    the command line; the kit for tests
    client/                           an MCP client, for these two
    serve/  server/  observe/         ways to start; `Server` and its parts; metrics
    features/ | transports/           tools, resources, prompts | stdio, HTTP, attach
              | calls/  stores/       execution of calls; sessions
              | process/              event loop, threads, descriptors, signals
    schema/   | protocol/             types and JSON Schema | the rules; no I/O in either
    encoding/ types/ errors.py        bytes and values of messages; errors

`docs/design/002-map.md` follows one call through them. A new method is a handler in `features/`,
a row in the table of handlers in `server/server.py`, a struct in `types/` for its parameters, and
a row in `protocol/revisions.py`, which says which revisions know it.

A name is imported when it is first used, so that a program that needs one part does not wait for
the others. Type checkers read `__init__.pyi`.
"""

from importlib import import_module as _import

from .import_without_gc import WithoutGc as _WithoutGc

_HOMES = {
    ".about": ("REVISIONS",),
    ".serve.attachment": ("Attachment",),
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
    ".features.functions.described_arguments": ("Arg",),
    ".features.elicitation.questions": (
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
    ".features.functions.completers": (
        "Complete",
        "Completion",
    ),
    ".features.results.content": (
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
    ".features.functions.depends": (
        "Depends",
        "Header",
    ),
    ".features.elicitation.forms": ("Titles",),
    ".features.providers.entries": (
        "PromptInfo",
        "ResourceInfo",
        "ToolInfo",
    ),
    ".features.session_data": ("SessionData",),
    ".features.results.messages": (
        "Message",
        "assistant",
        "user",
    ),
    ".features.functions.parameters": ("Unsafe",),
    ".features.prompts": ("PromptResult",),
    ".features.providers.object_provider": (
        "PromptProvider",
        "ResourceProvider",
        "ToolProvider",
    ),
    ".features.resources": ("Cache",),
    ".features.functions.markers": (
        "Ask",
        "InputRequired",
    ),
    ".server.handles": (
        "Inclusion",
        "PromptHandle",
        "ResourceHandle",
        "ToolHandle",
    ),
    ".serve.listener": ("Listener",),
    ".server.decorators": (
        "prompt",
        "resource",
        "tool",
    ),
    ".protocol.limits": ("Limits",),
    ".server.server": ("Server",),
    ".types.client_requests": (
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
    with _WithoutGc():
        module = _import(home, __name__)
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOME_OF]
