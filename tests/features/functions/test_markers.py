"""What a signature says of its call."""

from typing import Annotated

import pytest

from toolhaft import Context, Server
from toolhaft.features.functions.markers import BaseContext, is_context


class Own(Context):
    """What an author may have made of it."""


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        pytest.param(Context, True, id="itself"),
        pytest.param(Own, False, id="a class made of it"),
        pytest.param(BaseContext, False, id="what it is made of"),
        pytest.param(Context | None, False, id="a union"),
        pytest.param(str, False, id="another class"),
        pytest.param("Context", False, id="its name"),
        pytest.param(None, False, id="nothing"),
    ],
)
def test_only_context_itself_is_a_context(annotation: object, expected: bool) -> None:
    assert is_context(annotation) is expected


async def test_a_context_may_stand_in_a_union_or_under_a_note() -> None:
    server = Server("signs", version="1")

    @server.tool
    async def both(one: Context | None, other: Annotated[Context, "a note"]) -> bool:
        return one is other and one is not None

    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "both", "arguments": {}, "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await server.handle(call)

    assert answer is not None
    assert answer["result"]["structuredContent"] is True


def test_a_class_made_of_context_is_refused() -> None:
    server = Server("signs", version="1")

    def own(ctx: Own) -> str:
        return "never"

    with pytest.raises(TypeError, match="parameter 'ctx'"):
        server.tool(own)
