import pytest
import shop


@pytest.fixture
def server():
    return shop.server


async def test_in_the_newest_revision(mcp_client):
    assert await mcp_client.call("price", pairs=1) == 50.0


@pytest.mark.eras("handshake", "stateless")
async def test_in_both_eras(mcp_client):
    mcp_client.answer({"Which size?": 42})
    assert await mcp_client.call("order", model="boots") == "boots in 42"


@pytest.mark.eras("2024-11-05", "2025-06-18")
def test_a_plain_function(mcp_client):
    assert mcp_client.read("stock://clogs") == "0"
