"""MCP servers in Python: the handle by which a language model holds your program."""

from .errors import (
    InternalError,
    InvalidParams,
    InvalidRequest,
    McpError,
    MethodNotFound,
    MissingCapability,
    NotFound,
    PromptError,
    ResourceError,
    ToolError,
    Unauthorized,
)
from .features.completer import Complete
from .features.content import Audio, Contents, Embedded, File, Image, Link, Result, Text
from .features.context import Client, Context
from .features.depends import Depends, Header
from .features.keeping import SessionData
from .features.parameters import Unsafe
from .features.prompts import Message, PromptResult, assistant, user
from .features.resources import Cache
from .listener import Listener
from .protocol.limits import Limits
from .server import Server
from .types.wire import Icon

__all__ = [
    "Audio",
    "Cache",
    "Client",
    "Complete",
    "Contents",
    "Context",
    "Depends",
    "Embedded",
    "File",
    "Header",
    "Icon",
    "Image",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "Limits",
    "Link",
    "Listener",
    "McpError",
    "Message",
    "MethodNotFound",
    "MissingCapability",
    "NotFound",
    "PromptError",
    "PromptResult",
    "ResourceError",
    "Result",
    "Server",
    "SessionData",
    "Text",
    "ToolError",
    "Unauthorized",
    "Unsafe",
    "assistant",
    "user",
]
