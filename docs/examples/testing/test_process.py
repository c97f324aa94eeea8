from pathlib import Path

from toolhaft.testing import Client

HERE = Path(__file__).parent


async def test_the_program_serves():
    async with Client.stdio("toolhaft run shop.py", cwd=HERE) as client:
        assert client.server_info.name == "shop"
        assert await client.call("price", pairs=3, each=10) == 30.0
    assert (client.exit_status, client.stderr) == (0, "")
