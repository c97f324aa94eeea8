import pytest
from shop import server

from toolhaft import Declined
from toolhaft.testing import Client, assert_same_in_every_era


@pytest.mark.parametrize(
    ("answer", "outcome"), [(42, "boots in 42"), (Declined(), "nothing ordered")]
)
async def test_an_order_asks_for_the_size(answer, outcome):
    async with Client(server, answers={"Which size?": answer}) as client:
        assert await client.call("order", model="boots") == outcome


async def test_an_order_is_the_same_for_old_and_new_clients():
    await assert_same_in_every_era(
        server, lambda client: client.call("order", model="clogs"), answers=[38]
    )


async def test_an_order_tells_how_far_it_is():
    told = []
    async with Client(server, answers=[42]) as client:
        await client.call_raw(
            "order", {"model": "boots"}, on_progress=lambda *progress: told.append(progress)
        )
    assert told == [(1, 1, "packed")]
