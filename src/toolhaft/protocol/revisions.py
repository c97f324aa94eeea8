"""The table of revisions: the only module that spells their dates.

A revision is a row of facts. Code asks a row for a fact by its name and never compares versions;
«method not found» is absence from a row. The next revision is one more row.
"""

from collections.abc import Callable, Mapping
from typing import Any, Self

import msgspec
from msgspec import Raw, Struct, field

from ..types.content import (
    Annotations,
    AudioContent,
    BlobContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextContents,
)
from ..types.lifecycle import DiscoverResult, InitializeParams, ServerCapabilities
from ..types.notifications import ListenParams, Progress, SetLevelParams
from ..types.prompts import (
    CompleteParams,
    GetPromptParams,
    ListPromptsResult,
    Prompt,
    PromptArgument,
)
from ..types.resources import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceParams,
    ReadResourceResult,
    Resource,
    ResourceParams,
    ResourceTemplate,
)
from ..types.rounds import ElicitUrlParams
from ..types.tools import CallToolParams, CallToolResult, ListToolsResult, Tool
from ..types.wire import Implementation, PageParams, Params, Wire

Fields = Mapping[type[Wire], tuple[str, ...]]


class Method(Struct):
    """A request that a client may send, and how its parameters are read."""

    name: str
    decode: Callable[[Raw], Any]
    # May its answer be a question?
    asks: bool = False

    @classmethod
    def of(cls, name: str, params: type[Params]) -> Self:
        """The method with these parameters. Their decoder is made when the first of them come: all
        decoders together take a millisecond, and most servers need three."""

        def decode(raw: Raw) -> Any:
            method.decode = msgspec.json.Decoder(params).decode
            return method.decode(raw)

        method = cls(name, decode, name in ASKING)
        return method


class Forms(Struct, frozen=True, kw_only=True):
    """What the fields of a form may have."""

    # A default for other fields than true or false.
    defaults: bool = True
    # Choices with titles, as `oneOf`; before that, titles are in `enumNames`.
    titled: bool = True
    # A choice of several, as an array.
    several: bool = True
    # A pattern of a text, which the pages of one revision show.
    pattern: bool = False


class Revision(Struct, frozen=True, kw_only=True):
    """The facts of one revision. A default is the fact of the newest."""

    date: str
    methods: frozenset[str]
    # What the revision does not know and must not be sent, by type and field.
    unknown_fields: Fields = field(default_factory=dict[type[Wire], tuple[str, ...]])
    # Content blocks that have to be said in words instead.
    unknown_content: tuple[type[Wire], ...] = ()
    # Does a connection begin with `initialize`?
    handshake: bool = False
    # May several messages travel as one array?
    batches: bool = False
    # Over HTTP, may a stream be ended in the middle of a call, for the client to come back?
    polling: bool = False
    # Has the result of a tool `structuredContent`, and a tool an `outputSchema`?
    structure: bool = True
    # May `structuredContent`, and the root of an `outputSchema`, be other than an object?
    any_structure: bool = True
    not_found_code: int = -32602
    # Are the codes from -32099 to -32000 the server's own, as JSON-RPC has it?
    servers_have_codes: bool = False
    # The code for a page that the user has to visit before the request is sent again.
    url_required_code: int | None = None
    # What a client may declare that it can be asked for.
    askable: frozenset[str] = frozenset(
        {"roots", "sampling", "sampling.tools", "elicitation.form", "elicitation.url"}
    )
    forms: Forms = Forms()


_PARAMS: dict[str, type[Params]] = {
    "initialize": InitializeParams,
    "ping": Params,
    "server/discover": Params,
    "tools/list": PageParams,
    "tools/call": CallToolParams,
    "resources/list": PageParams,
    "resources/templates/list": PageParams,
    "resources/read": ReadResourceParams,
    "resources/subscribe": ResourceParams,
    "resources/unsubscribe": ResourceParams,
    "prompts/list": PageParams,
    "prompts/get": GetPromptParams,
    "completion/complete": CompleteParams,
    "logging/setLevel": SetLevelParams,
    "subscriptions/listen": ListenParams,
}

# "Servers MUST NOT" answer any other request with questions.
ASKING = frozenset({"tools/call", "prompts/get", "resources/read"})

METHODS: Mapping[str, Method] = {name: Method.of(name, params) for name, params in _PARAMS.items()}

_SHARED = frozenset(
    {
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
    }
)
_HANDSHAKE = _SHARED | {
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
}
_STATELESS = _SHARED | {"server/discover", "subscriptions/listen"}

_FIRST_ASKABLE = frozenset({"roots", "sampling"})
_CACHE = ("ttl_ms", "cache_scope")
# The page itself tells its visitors apart.
_UNTIL_2025: Fields = {ElicitUrlParams: ("elicitation_id",)}
_SINCE_2026: Fields = dict.fromkeys(
    (
        DiscoverResult,
        ListToolsResult,
        ListResourcesResult,
        ListResourceTemplatesResult,
        ListPromptsResult,
        ReadResourceResult,
    ),
    _CACHE,
)
_SINCE_2025_11: Fields = {
    Implementation: ("description", "website_url", "icons"),
    Tool: ("icons",),
    Resource: ("icons",),
    ResourceTemplate: ("icons",),
    ResourceLink: ("icons",),
    Prompt: ("icons",),
}
_SINCE_2025_06: Fields = {
    Implementation: ("title",),
    Tool: ("title", "output_schema", "meta"),
    CallToolResult: ("structured_content",),
    Resource: ("title", "meta"),
    ResourceTemplate: ("title", "meta"),
    Prompt: ("title", "meta"),
    PromptArgument: ("title",),
    TextContents: ("meta",),
    BlobContents: ("meta",),
    TextContent: ("meta",),
    ImageContent: ("meta",),
    AudioContent: ("meta",),
    EmbeddedResource: ("meta",),
    Annotations: ("last_modified",),
}
_SINCE_2025_03: Fields = {
    Tool: ("annotations",),
    ServerCapabilities: ("completions",),
    Progress: ("message",),
}


def _all(*tables: Fields) -> Fields:
    joined: dict[type[Wire], tuple[str, ...]] = {}
    for table in tables:
        for kind, names in table.items():
            joined[kind] = (*joined.get(kind, ()), *names)
    return joined


REVISIONS: Mapping[str, Revision] = {
    row.date: row
    for row in (
        Revision(
            date="2026-07-28",
            methods=_STATELESS,
            unknown_fields=_UNTIL_2025,
        ),
        Revision(
            date="2025-11-25",
            methods=_HANDSHAKE,
            unknown_fields=_SINCE_2026,
            handshake=True,
            polling=True,
            any_structure=False,
            not_found_code=-32002,
            servers_have_codes=True,
            url_required_code=-32042,
            forms=Forms(pattern=True),
        ),
        Revision(
            date="2025-06-18",
            methods=_HANDSHAKE,
            unknown_fields=_all(_SINCE_2026, _SINCE_2025_11),
            handshake=True,
            any_structure=False,
            not_found_code=-32002,
            servers_have_codes=True,
            askable=_FIRST_ASKABLE | {"elicitation.form"},
            forms=Forms(defaults=False, titled=False, several=False),
        ),
        Revision(
            date="2025-03-26",
            methods=_HANDSHAKE,
            unknown_fields=_all(_SINCE_2026, _SINCE_2025_11, _SINCE_2025_06),
            unknown_content=(ResourceLink,),
            handshake=True,
            batches=True,
            structure=False,
            any_structure=False,
            not_found_code=-32002,
            servers_have_codes=True,
            askable=_FIRST_ASKABLE,
        ),
        Revision(
            date="2024-11-05",
            methods=_HANDSHAKE,
            unknown_fields=_all(_SINCE_2026, _SINCE_2025_11, _SINCE_2025_06, _SINCE_2025_03),
            unknown_content=(ResourceLink, AudioContent),
            handshake=True,
            structure=False,
            any_structure=False,
            not_found_code=-32002,
            servers_have_codes=True,
            askable=_FIRST_ASKABLE,
        ),
    )
}

# Newest first, which is also the order in which we name them to a client.
SUPPORTED: list[str] = list(REVISIONS)
HANDSHAKES: list[str] = [date for date, row in REVISIONS.items() if row.handshake]
NEWEST_HANDSHAKE: Revision = next(row for row in REVISIONS.values() if row.handshake)
# Over HTTP, a client that names no revision and has no session speaks this one.
DEFAULT_HANDSHAKE: Revision = next(row for row in REVISIONS.values() if row.batches)
