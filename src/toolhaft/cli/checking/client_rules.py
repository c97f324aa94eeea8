"""What is known of clients: which names, schemas and numbers of tools they refuse, and from where.

Nearly all of it is refusal by the model's API behind a client, which is passed on for all tools of
all servers at once: one name with a dot in it, and a conversation cannot begin. Most clients repair
some of it, none repairs all, so the rules are those of the strictest.
"""

import re
from typing import Final, NamedTuple


class NameRule(NamedTuple):
    """How a tool may be called."""

    pattern: re.Pattern[str]
    words: str
    level: str
    source: str


# What the specification allows is no error, whoever refuses it.
NAMES: Final = (
    NameRule(
        re.compile(r"[a-zA-Z0-9_.-]{1,128}"),
        "its name is none by the specification, which asks for 1 to 128 letters, digits, _, - "
        "and .",
        "error",
        "https://github.com/modelcontextprotocol/modelcontextprotocol/issues/986",
    ),
    # Of Codex: https://github.com/openai/codex/issues/8174; of Copilot:
    # https://github.com/github/copilot-cli/issues/1879; that all tools of the server are gone:
    # https://github.com/evoila/meho/issues/2745.
    NameRule(
        re.compile(r"[a-zA-Z0-9_-]{1,64}"),
        "its name is refused by the APIs of models behind Claude Desktop, claude.ai, Codex and "
        "Copilot, which then offer no tool at all: they take up to 64 letters, digits, _ and -",
        "warning",
        "https://github.com/modelcontextprotocol/modelcontextprotocol/issues/1063",
    ),
    NameRule(
        re.compile(r"[a-zA-Z_].{0,63}", re.DOTALL),
        "its name is refused by clients of Gemini's API: they take a letter or _ first, and up to "
        "64 characters",
        "warning",
        "https://cloud.google.com/vertex-ai/generative-ai/docs/reference/nodejs/1.1.0/vertexai/functiondeclaration",
    ),
)

# "Combined server and tool name length (60) exceeds 60 characters": a name of 59 after a server
# that is called "g". Such tools are left out.
CURSOR_NAMES: Final = 59
CURSOR_NAMES_SOURCE: Final = "https://github.com/ComposioHQ/composio/issues/2788"

# Only the members at the top are looked at, but one that does not match fails the whole request.
PARAMETER: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
PARAMETER_SOURCE: Final = "https://github.com/twilio-labs/mcp/issues/58"


class Limit(NamedTuple):
    """How much a client takes."""

    most: int
    level: str
    words: str
    source: str


# The first that is exceeded counts.
TOOLS: Final = (
    Limit(
        128,
        "error",
        "VS Code and Copilot refuse requests with more than 128, of all servers together",
        "https://github.com/microsoft/vscode/issues/337428",
    ),
    Limit(
        80,
        "warning",
        "Cursor warns above 80, of all servers together",
        "https://github.com/Snowflake-Labs/mcp/issues/77",
    ),
    Limit(
        40,
        "note",
        "older Cursors pass on the first 40, of all servers together",
        "https://github.com/bun913/mcp-testrail/issues/6",
    ),
)
DESCRIPTION: Final = (
    Limit(
        2048,
        "warning",
        "Claude Code cuts it at 2048, and OpenAI's API may refuse what is longer than 1024",
        "https://github.com/anthropics/claude-code/issues/41593",
    ),
    Limit(
        1024,
        "warning",
        "OpenAI's API may refuse what is longer than 1024",
        "https://github.com/modelcontextprotocol/servers/issues/799",
    ),
)
# Seconds until the first answer. No errors, since they also depend on what the machine does else.
START: Final = (
    Limit(
        10, "warning", "Codex gives up after 10 s", "https://github.com/openai/codex/issues/11851"
    ),
    Limit(2, "warning", "people wait for it, each time their client starts", ""),
)
STDOUT_SOURCE: Final = "https://github.com/run-llama/mcp-server-llamacloud/issues/5"


class SchemaRule(NamedTuple):
    """Something in a schema that a client cannot read."""

    level: str
    what: str
    advice: str
    source: str


ROOT: Final = SchemaRule(
    "error",
    "{} at the root: the APIs of Anthropic and OpenAI refuse it, with all other tools",
    "move the choice into a parameter, or make several tools",
    "https://github.com/anthropics/claude-code/issues/5973",
)
NO_OBJECT: Final = SchemaRule(
    "error",
    'the root is not of "type": "object", as the specification wants it',
    "describe the parameters as the properties of an object",
    "https://modelcontextprotocol.io/docs/concepts/tools",
)
NO_PROPERTIES: Final = SchemaRule(
    "note",
    'no "properties" at the root: OpenAI\'s API wants them, even if there are none',
    'add "properties": {}',
    "https://github.com/langchain-ai/langchain-mcp-adapters/issues/137",
)
NO_ITEMS: Final = SchemaRule(
    "error",
    "a list that does not say of what: VS Code refuses the tool, OpenAI's API the request",
    "say what is in it, as in list[str]",
    "https://github.com/microsoft/vscode/issues/248810",
)
NO_TYPE: Final = SchemaRule(
    "warning",
    "no type, so anything fits: Gemini's API refuses it, and a model has to guess",
    "annotate it",
    "https://github.com/unclecode/crawl4ai/issues/1311",
)
ENUM: Final = SchemaRule(
    "warning",
    "values that are no text, or have no type: Gemini's API knows only enums of strings",
    'use strings, and say "type": "string"',
    "https://github.com/decolua/9router/issues/359",
)
TYPES: Final = SchemaRule(
    "warning",
    "a list of types: Gemini's API takes one",
    'write {"anyOf": [...]}, or leave null out and make the parameter optional',
    "https://github.com/aoci-spec/aoci-code/issues/61",
)
REFERENCE: Final = SchemaRule(
    "warning",
    "$ref: some clients of Gemini lose what it leads to",
    "put the schema in its place",
    "https://github.com/google-gemini/gemini-cli/issues/13326",
)
RECURSIVE: Final = SchemaRule(
    "warning",
    "the schema contains itself: Gemini's API refuses that, and some clients never finish",
    "end it after a level or two, or take the rest as text",
    "https://github.com/google-gemini/gemini-cli/issues/14945",
)
RECURSIVE_RESULT: Final = SchemaRule(
    "warning",
    "the schema contains itself: Claude Code 2.1 could not list a server with such a result",
    "end it after a level or two",
    "https://github.com/anthropics/claude-code/issues/77106",
)
FORMAT: Final = SchemaRule(
    "note",
    "format {}: Gemini's API knows only date-time, and refuses others unless they are left out",
    "say it in the description too",
    "https://github.com/google-gemini/gemini-cli/issues/3178",
)
KEYWORDS: Final = SchemaRule(
    "note",
    "{}: Gemini's API does not know it, and refuses the request unless it is left out",
    "say it in the description too",
    "https://github.com/hideya/langchain-mcp-tools-ts/issues/36",
)
# Of string formats.
GEMINI_FORMATS: Final = frozenset({"enum", "date-time"})
GEMINI_UNKNOWN: Final = (
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "const", "oneOf", "allOf",
    "not", "if", "patternProperties", "propertyNames", "prefixItems", "contains",
    "dependentRequired", "dependentSchemas",
)  # fmt: skip
RESULT_OBJECT: Final = SchemaRule(
    "error",
    'its result is not of "type": "object" for clients with a handshake: those that use the '
    "TypeScript SDK then lose every tool",
    "return an object",
    "https://github.com/opentokenz/mcpx/issues/28",
)
