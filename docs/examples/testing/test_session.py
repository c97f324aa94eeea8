from shop import server

from toolhaft.testing import Client, record, replay


async def test_a_session_can_be_replayed(tmp_path):
    async with record(Client(server), tmp_path / "prices.txt", "Prices are told.") as client:
        await client.call("price", pairs=2)

    await replay(tmp_path / "prices.txt", server)
