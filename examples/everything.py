"""Everything that a server can do, once each: what the official conformance suite asks for.

The names are the suite's. `tests/conformance` serves this file and runs the suite against it.
"""

import asyncio
import io
import struct
import wave
import zlib
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from toolhaft import (
    Accepted,
    Audio,
    Complete,
    Context,
    Elicit,
    Embedded,
    Image,
    MissingCapability,
    Roots,
    Sample,
    Server,
    ToolError,
)

server = Server("everything", version="1.0.0", instructions="Each tool shows one thing.")


def _red_pixel() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        size, check = struct.pack(">I", len(data)), struct.pack(">I", zlib.crc32(kind + data))
        return size + kind + data + check

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)  # one by one, eight bits each of RGB
    row = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", row) + chunk(b"IEND", b"")


def _silence() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 80)
    return file.getvalue()


PNG, WAV = _red_pixel(), _silence()


# Content


@server.tool(read_only=True)
def test_simple_text() -> str:
    """Answer with text."""
    return "This is a simple text response for testing."


@server.tool(read_only=True)
def test_image_content() -> Image:
    """Answer with a picture."""
    return Image(PNG)


@server.tool(read_only=True)
def test_audio_content() -> Audio:
    """Answer with a sound."""
    return Audio(WAV)


@server.tool(read_only=True)
def test_embedded_resource() -> Embedded:
    """Answer with a resource and what it holds."""
    content = "This is an embedded resource content."
    return Embedded("test://embedded-resource", content, mime_type="text/plain")


@server.tool(read_only=True)
def test_multiple_content_types() -> list[str | Image | Embedded]:
    """Answer with text, a picture and a resource."""
    data = '{"test": "data", "value": 123}'
    return [
        "Multiple content types test:",
        Image(PNG),
        Embedded("test://mixed-content-resource", data, mime_type="application/json"),
    ]


@server.tool
def test_error_handling() -> str:
    """Fail, and tell the model why."""
    raise ToolError("This tool intentionally returns an error for testing.")


# While a call runs


@server.tool
async def test_tool_with_progress(ctx: Context) -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        await ctx.progress(done, 100, f"{done} of 100")
        await asyncio.sleep(0.05)
    return "Did all of 100."


@server.tool
async def test_tool_with_logging(ctx: Context) -> str:
    """Send three log messages."""
    for step in ("execution started", "processing data", "execution completed"):
        await ctx.log("info", f"Tool {step}")
        await asyncio.sleep(0.05)
    return "Logged three messages."


@server.tool
async def test_logging_tool(ctx: Context) -> str:
    """Send a log message, if the client wants any."""
    await ctx.log("info", "The tool was called.")
    return "Logged, if you wanted it."


@server.tool
async def test_reconnection(ctx: Context) -> str:
    """Hang up in mid-call; the client comes back for the answer."""
    ctx.hang_up()
    await asyncio.sleep(0.2)
    return "Here is the answer."


# Schemas

CONTACT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@server.tool(input_schema=CONTACT)
def json_schema_2020_12_tool(**contact: Any) -> str:
    """Take what a schema by hand lets pass; it is published as it stands."""
    return f"Will write to {contact.get('name', 'somebody')}."


@server.tool
def test_x_mcp_header(
    region: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Region"})],
) -> str:
    """Take an argument that HTTP clients repeat in a header."""
    return f"The region is {region}."


# Questions to the client


@dataclass
class Account:
    username: str
    email: str


@dataclass
class Profile:
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


@dataclass
class Name:
    name: str


@dataclass
class Color:
    color: str


@dataclass
class Confirmation:
    ok: bool


@dataclass
class Topic:
    context: str


# Every form that a choice may have. Only a schema by hand can say the third: it is of the past.
CHOICES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {
            "type": "string",
            "oneOf": [
                {"const": "value1", "title": "First Option"},
                {"const": "value2", "title": "Second Option"},
            ],
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2"],
            "enumNames": ["Option One", "Option Two"],
        },
        "untitledMulti": {
            "type": "array",
            "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
        },
        "titledMulti": {
            "type": "array",
            "items": {
                "anyOf": [
                    {"const": "value1", "title": "First Choice"},
                    {"const": "value2", "title": "Second Choice"},
                ]
            },
        },
    },
}


def _said(answer: object) -> str:
    return f"You said {answer.value}." if isinstance(answer, Accepted) else "You did not say."


@server.tool
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Ask the client's model."""
    reply = await ctx.sample(prompt, max_tokens=100)
    return f"LLM response: {reply.text}"


@server.tool
async def test_elicitation(message: str, ctx: Context) -> str:
    """Ask the user to fill in a form."""
    return _said(await ctx.elicit(message, Account))


@server.tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask with a default for each type."""
    return _said(await ctx.elicit("Is this you?", Profile))


@server.tool
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask for choices of every form."""
    return _said(await ctx.elicit("What do you choose?", CHOICES))


@server.tool
async def test_streaming_elicitation(ctx: Context) -> str:
    """Ask the user, with no request of the server's own on the stream."""
    return _said(await ctx.elicit("What is your name?", Name))


@server.tool
async def test_missing_capability(ctx: Context) -> str:
    """Refuse a client that has no model to ask."""
    if not ctx.client.can("sampling"):
        raise MissingCapability("this tool needs a client with a model", required={"sampling": {}})
    return "You have a model."


# Questions in rounds: a client without a session calls again, with the answers


@server.tool
async def test_input_required_result_elicitation(ctx: Context) -> str:
    """Ask the user."""
    return _said(await ctx.elicit("What is your name?", Name, key="user_name"))


@server.tool
async def test_input_required_result_sampling(ctx: Context) -> str:
    """Ask the client's model."""
    reply = await ctx.sample("What is the capital of France?", max_tokens=100, key="capital")
    return f"The model said: {reply.text}"


@server.tool
async def test_input_required_result_list_roots(ctx: Context) -> str:
    """Ask for the folders that the client works in."""
    roots = await ctx.roots(key="roots")
    return f"You work in {', '.join(root.uri for root in roots) or 'no folder'}."


@server.tool
async def test_input_required_result_request_state(ctx: Context) -> str:
    """Ask for consent; what the server has to remember travels with the question."""
    return _said(await ctx.elicit("Shall we go on?", Confirmation, key="confirm"))


@server.tool
async def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask for consent; a client that changes what travels with the question is refused."""
    return _said(await ctx.elicit("Shall we go on?", Confirmation, key="confirm"))


@server.tool
async def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask the user, the model and the client at once."""
    answers = await ctx.ask(
        user_name=Elicit("What is your name?", Name),
        greeting=Sample("Write a greeting.", max_tokens=50),
        roots=Roots(),
    )
    return f"{_said(answers['user_name'])} The model says: {answers['greeting'].text}"


@server.tool
async def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask for one thing after the other."""
    name = await ctx.elicit("What is your name?", Name, key="step1")
    color = await ctx.elicit("What is your favorite color?", Color, key="step2")
    return f"{_said(name)} {_said(color)}"


@server.tool
async def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask only what the client can answer."""
    questions: dict[str, Any] = {}
    if ctx.client.can("elicitation"):
        questions["user_name"] = Elicit("What is your name?", Name)
    if ctx.client.can("sampling"):
        questions["greeting"] = Sample("Write a greeting.", max_tokens=50)
    answers = await ctx.ask(**questions)
    return f"You answered {len(answers)} of {len(questions)} questions."


# Lists that change


def passing() -> str:
    """Be gone in a moment."""
    return "still here"


@server.tool(thread=False)
def test_trigger_tool_change() -> str:
    """Add a tool and remove it."""
    server.add_tool(passing)
    server.remove_tool("passing")
    return "The tools have changed, and changed back."


@server.tool(thread=False)
def test_trigger_prompt_change() -> str:
    """Add a prompt and remove it."""
    server.add_prompt(passing)
    server.remove_prompt("passing")
    return "The prompts have changed, and changed back."


# Resources


@server.resource("test://static-text")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """A picture."""
    return PNG


@server.resource("test://watched-resource")
def watched_resource() -> str:
    """A text that clients may follow."""
    return "Watched resource content."


@server.resource("test://template/{id}/data", mime_type="application/json")
def template_data(id: str) -> dict[str, Any]:
    """What is known of one id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


# Prompts


def _values(typed: str) -> list[str]:
    return [value for value in ("testValue1", "testValue2") if value.startswith(typed)]


@server.prompt
def test_simple_prompt() -> str:
    """Say one thing."""
    return "This is a simple prompt for testing."


@server.prompt
def test_prompt_with_arguments(arg1: Annotated[str, Complete(_values)], arg2: str) -> str:
    """Say what the user has filled in."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[str | Embedded]:
    """Hand over a resource."""
    content = "Embedded resource content for testing."
    return [
        Embedded(resourceUri, content, mime_type="text/plain"),
        "Please process the embedded resource above.",
    ]


@server.prompt
def test_prompt_with_image() -> list[str | Image]:
    """Hand over a picture."""
    return [Image(PNG), "Please analyze the image above."]


@server.prompt
async def test_input_required_result_prompt(ctx: Context) -> str:
    """Ask the user before there is anything to say."""
    answer = await ctx.elicit("What is it about?", Topic, key="user_context")
    topic = answer.value.context if isinstance(answer, Accepted) else "anything"
    return f"Let us talk about {topic}."


if __name__ == "__main__":
    server.run()
