from shop import server

from toolhaft.testing import SyncClient


def test_boots_are_in_stock():
    with SyncClient(server) as client:
        assert client.read("stock://boots") == "3"
        assert [tool.name for tool in client.list_tools()] == ["price", "order"]
