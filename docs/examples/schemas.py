from typing import Annotated, Any

from msgspec import Meta

from toolhaft import Server

server = Server("database", version="1.0.0")

QUERY = {
    "type": "object",
    "properties": {
        "table": {"type": "string", "pattern": "^[a-z]+$"},
        "where": {"$ref": "#/$defs/condition"},
    },
    "required": ["table"],
    "$defs": {"condition": {"type": "object", "minProperties": 1}},
}
ROWS = {
    "type": "object",
    "properties": {"rows": {"type": "array", "items": {"type": "object"}}},
    "required": ["rows"],
}


@server.tool(input_schema=QUERY, output_schema=ROWS)
def query(**arguments: Any) -> dict[str, Any]:
    """What the schema lets pass arrives in `arguments`."""
    return {"rows": [arguments.get("where", {})]}


@server.tool
def count(table: Annotated[str, Meta(extra_json_schema={"x-mcp-header": "Table"})]) -> int:
    """One keyword more, in a schema that is made of the annotations."""
    return len(table)
