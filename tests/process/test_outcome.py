"""How something has ended, and waiting for an end."""

import asyncio
from typing import Any

import pytest

from toolhaft.process.outcome import Ended, end_of, guarded


def test_an_end_is_a_value_or_an_error() -> None:
    assert Ended(5).value() == 5
    with pytest.raises(ValueError, match="no"):
        Ended(error=ValueError("no")).value()


@pytest.mark.parametrize("error", [ValueError(), SystemExit(3), KeyboardInterrupt()])
async def test_whatever_is_raised_is_an_end(error: BaseException) -> None:
    async def fail() -> Any:
        raise error

    ended = await guarded(fail())
    with pytest.raises(type(error)) as raised:
        ended.value()

    assert raised.value is error


async def test_what_is_cancelled_has_ended_by_that() -> None:
    task = asyncio.create_task(guarded(asyncio.sleep(60)))
    await asyncio.sleep(0)
    task.cancel()
    ended = await task

    with pytest.raises(asyncio.CancelledError):
        ended.value()


@pytest.mark.parametrize("interruptions", [0, 1, 3])
async def test_an_end_is_waited_for_whatever_comes(interruptions: int) -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(end_of(future))
    for _ in range(interruptions):
        await asyncio.sleep(0)
        waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    future.set_result(None)

    assert await waiting is (interruptions > 0)
    assert not future.cancelled()
