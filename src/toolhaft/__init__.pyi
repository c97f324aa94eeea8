# What `__init__.py` gives, for type checkers.

from .about import REVISIONS
from .about import __version__ as __version__
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
from .features.context import Client, Context
from .features.elicitation.forms import Titles
from .features.elicitation.questions import (
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
from .features.functions.completers import Complete, Completion
from .features.functions.depends import Depends, Header
from .features.functions.described_arguments import Arg
from .features.functions.markers import Ask, InputRequired
from .features.functions.parameters import Unsafe
from .features.prompts import PromptResult
from .features.providers.entries import PromptInfo, ResourceInfo, ToolInfo
from .features.providers.object_provider import PromptProvider, ResourceProvider, ToolProvider
from .features.resources import Cache
from .features.results.content import Audio, Contents, Embedded, File, Image, Link, Result, Text
from .features.results.messages import Message, assistant, user
from .features.session_data import SessionData
from .protocol.limits import Limits
from .serve.attachment import Attachment
from .serve.listener import Listener
from .server.decorators import prompt, resource, tool
from .server.handles import Inclusion, PromptHandle, ResourceHandle, ToolHandle
from .server.server import Server
from .types.client_requests import Root, ToolUse
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
