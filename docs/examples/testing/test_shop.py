import pytest
from shop import server

from toolhaft.testing import Client, ToolFailed


async def test_two_pairs_cost_twice_as_much():
    async with Client(server) as client:
        assert await client.call("price", pairs=2) == 100.0


async def test_no_shoes_have_no_price():
    async with Client(server, revision="2025-11-25") as client:
        with pytest.raises(ToolFailed, match="at least one pair"):
            await client.call("price", pairs=0)
