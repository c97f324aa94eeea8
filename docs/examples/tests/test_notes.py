from notes import server

from toolhaft.testing import assert_contract, contract_of


def test_clients_can_rely_on_it() -> None:
    assert_contract(server, "notes.lock")


async def test_the_same_in_a_loop() -> None:
    assert_contract(server, "notes.lock")
    assert_contract(await contract_of(server), "notes.lock")
