"""One suite for one shop, whoever serves it: toolhaft, `mcp` or `fastmcp`, over stdio."""

from pathlib import Path

import pytest
from tests.warm import OURS, THEIRS, warm

from toolhaft import McpError
from toolhaft.testing import Client, ToolFailed, assert_resource

SHOPS = Path(__file__).parent / "shops"
# Who names none agrees with all of these on the newest.
REVISIONS = ["2025-11-25", "2025-06-18"]

every_shop = pytest.mark.parametrize("shop", ["ours", "of_mcp", "of_fastmcp"])
# Those that can ask in both eras.
every_asking_shop = pytest.mark.parametrize("shop", ["ours", "of_mcp"])
every_revision = pytest.mark.parametrize("revision", [None, *REVISIONS])


def opened(shop: str, revision: str | None, **options: object) -> Client:
    command = warm(OURS if shop == "ours" else THEIRS, str(SHOPS / f"{shop}.py"))
    return Client.stdio(command, revision=revision, timeout=50, **options)  # type: ignore[arg-type]


@every_shop
@every_revision
async def test_a_shop(shop: str, revision: str | None) -> None:
    async with opened(shop, revision) as client:
        assert client.revision == (revision or "2026-07-28")
        assert (client.server_info.name, client.server_info.version) == ("shop", "1.0.0")
        assert client.instructions == "Sell shoes."

        price = await client.tool("price")
        assert price.description == "What shoes cost."
        assert price.input_schema["required"] == ["pairs"]
        assert await client.call("price", pairs=2) == 100.0
        assert await client.call("price", {"pairs": 1}, each=9.5) == 9.5
        with pytest.raises(ToolFailed, match="at least one pair"):
            await client.call("price", pairs=0)
        with pytest.raises(ToolFailed, match="pairs"):
            await client.call("price", pairs="many")

        assert [each.uri for each in await client.list_resources()] == ["shop://opening-hours"]
        assert [each.uri_template for each in await client.list_templates()] == [
            "shop://shoes/{name}"
        ]
        hours = {"uri": "shop://opening-hours", "mimeType": "text/plain", "text": "9 to 5"}
        await assert_resource(client, "shop://opening-hours", hours)
        assert await client.read("shop://shoes/oxford") == "oxford, brown"
        with pytest.raises(McpError):
            await client.read("shop://gloves")

        [prompt] = await client.list_prompts()
        assert prompt.name == "advertise"
        written = await client.prompt("advertise", shoe="oxford")
        assert written.texts == [("user", "Praise oxford, quiet.")]


@every_asking_shop
@every_revision
async def test_a_shop_that_asks(shop: str, revision: str | None) -> None:
    async with opened(shop, revision, answers={"Which size?": {"size": 42}}) as client:
        assert await client.call("order") == "size 42"
