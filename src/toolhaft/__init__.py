"""MCP servers in Python: the handle by which a language model holds your program.

A name is loaded when it is first asked for, so that whoever wants a part, or only the command line,
does not wait for the rest. Type checkers read `__init__.pyi`.
"""

from importlib import import_module as _import

_HOMES = {
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
        "Ask",
        "Cancelled",
        "Declined",
        "Elicit",
        "ElicitUrl",
        "InputRequired",
        "Roots",
        "Sample",
        "Sampled",
        "SampleTool",
        "ToolAnswer",
    ),
    ".features.completer": ("Complete",),
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


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_import(home, __name__), name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOME_OF]
