# What `__init__.py` gives, for type checkers.

from .about import REVISIONS
from .about import __version__ as __version__
from .attachment import Attachment
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
from .features.arguments import Arg
from .features.asking import (
    Accepted,
    Cancelled,
    Declined,
    Elicit,
    ElicitUrl,
    Roots,
    Sample,
    Sampled,
    SampleTool,
    ToolAnswer,
)
from .features.completer import Complete, Completion
from .features.content import Audio, Contents, Embedded, File, Image, Link, Result, Text
from .features.context import Client, Context
from .features.depends import Depends, Header
from .features.forms import Titles
from .features.infos import PromptInfo, ResourceInfo, ToolInfo
from .features.keeping import SessionData
from .features.messages import Message, assistant, user
from .features.parameters import Unsafe
from .features.prompts import PromptResult
from .features.providing import PromptProvider, ResourceProvider, ToolProvider
from .features.resources import Cache
from .features.signs import Ask, InputRequired
from .handles import Inclusion, PromptHandle, ResourceHandle, ToolHandle
from .listener import Listener
from .marks import prompt, resource, tool
from .protocol.limits import Limits
from .server import Server
from .types.asking import Root, ToolUse
from .types.wire import Icon

__all__ = [  # noqa: RUF022 - in the order of `sorted`
    "Accepted",
    "Arg",
    "Ask",
    "Attachment",
    "Audio",
    "Cache",
    "Cancelled",
    "Client",
    "Complete",
    "Completion",
    "Contents",
    "Context",
    "Declined",
    "Depends",
    "Elicit",
    "ElicitUrl",
    "Embedded",
    "File",
    "Header",
    "Icon",
    "Image",
    "Inclusion",
    "InputRequired",
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
    "PromptHandle",
    "PromptInfo",
    "PromptProvider",
    "PromptResult",
    "REVISIONS",
    "ResourceError",
    "ResourceHandle",
    "ResourceInfo",
    "ResourceProvider",
    "Result",
    "Root",
    "Roots",
    "Sample",
    "SampleTool",
    "Sampled",
    "Server",
    "SessionData",
    "Text",
    "Titles",
    "ToolAnswer",
    "ToolError",
    "ToolHandle",
    "ToolInfo",
    "ToolProvider",
    "ToolUse",
    "Unauthorized",
    "Unsafe",
    "assistant",
    "prompt",
    "resource",
    "tool",
    "user",
]
