from shop import server

from toolhaft.testing import Client


async def test_over_http_without_a_socket():
    async with Client.asgi(server.asgi()) as client:
        assert await client.call("price", pairs=1) == 50.0
