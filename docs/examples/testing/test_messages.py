from shop import server

from toolhaft.testing import Client, assert_error, assert_metrics, assert_resource, requests


async def test_resources_have_exactly_these_fields():
    async with Client(server) as client:
        expected = {"uri": "stock://boots", "mimeType": "text/plain", "text": "3"}
        await assert_resource(client, "stock://boots", expected)


async def test_an_unknown_tool_is_an_error():
    async with Client(server) as client:
        response = await client.raw(client.requests.tools_call("sell"))
        assert_error(response, -32602, "sell")


async def test_one_message_without_a_client():
    request = requests.of("2026-07-28").resources_read("stock://hats")
    assert_error(await server.handle(request), -32602, "no such model: hats")


async def test_failed_calls_are_counted():
    async with Client(server) as client:
        with assert_metrics(server, {"tools/call:price": (2, 1)}):
            await client.call_raw("price", {"pairs": 1})
            await client.call_raw("price", {"pairs": 0})
