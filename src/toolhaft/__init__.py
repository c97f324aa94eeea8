"""MCP servers in Python: the handle by which a language model holds your program."""

from .errors import (
    InternalError,
    InvalidParams,
    InvalidRequest,
    McpError,
    MethodNotFound,
    MissingCapability,
    NotFound,
    ToolError,
)
from .features.completer import Complete
from .features.context import Client, Context
from .features.prompts import assistant, user
from .features.resources import Cache
from .features.signature import Unsafe
from .protocol.limits import Limits
from .server import Server
from .types.wire import Icon

__all__ = [
    "Cache",
    "Client",
    "Complete",
    "Context",
    "Icon",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "Limits",
    "McpError",
    "MethodNotFound",
    "MissingCapability",
    "NotFound",
    "Server",
    "ToolError",
    "Unsafe",
    "assistant",
    "user",
]
