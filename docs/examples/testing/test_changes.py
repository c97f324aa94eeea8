import shop

from toolhaft.testing import Client


async def test_who_follows_the_stock_hears_of_it(monkeypatch):
    async with Client(shop.server) as client, client.subscribe("stock://boots") as heard:
        monkeypatch.setitem(shop.STOCK, "boots", 2)
        shop.server.resource_updated("stock://boots")

        assert (await heard.next()).uri == "stock://boots"
        assert await client.read("stock://boots") == "2"
