"""What is done in the next turn of the loop, and only once for a key."""

import asyncio
import threading

import pytest

from toolhaft.process.next_iteration import NextIteration


async def turned() -> None:
    """Let the loop have two turns: one to be woken up in, one to act in."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_it_is_not_done_at_once() -> None:
    done: list[str] = []
    soon = NextIteration(asyncio.get_running_loop())
    soon("a", lambda: done.append("a"))
    assert done == []
    await turned()

    assert done == ["a"]


async def test_the_first_of_a_key_is_done_and_no_other() -> None:
    done: list[int] = []
    soon = NextIteration(asyncio.get_running_loop())
    for number in range(3):
        soon("a", lambda number=number: done.append(number))  # type: ignore[misc]
    soon("b", lambda: done.append(9))
    await turned()

    assert done == [0, 9]


async def test_in_a_later_turn_a_key_is_new() -> None:
    done: list[str] = []
    soon = NextIteration(asyncio.get_running_loop())
    for _ in range(2):
        soon("a", lambda: done.append("a"))
        await turned()

    assert done == ["a", "a"]


async def test_what_is_asked_for_meanwhile_is_done_later() -> None:
    done: list[str] = []
    soon = NextIteration(asyncio.get_running_loop())

    def again() -> None:
        done.append("first")
        soon("a", lambda: done.append("second"))

    soon("a", again)
    await turned()
    await turned()

    assert done == ["first", "second"]


async def test_it_may_be_asked_for_from_any_thread() -> None:
    done: list[threading.Thread] = []
    soon = NextIteration(asyncio.get_running_loop())
    await asyncio.to_thread(soon, "a", lambda: done.append(threading.current_thread()))
    await turned()

    assert done == [threading.current_thread()]


async def test_what_raises_does_not_keep_others_from_being_done(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done: list[str] = []
    soon = NextIteration(asyncio.get_running_loop())
    soon("a", lambda: [][0])
    soon("b", lambda: done.append("b"))
    await turned()

    assert done == ["b"]
    assert "IndexError" in caplog.text


def test_when_the_loop_is_closed_nobody_waits_for_it() -> None:
    loop = asyncio.new_event_loop()
    soon = NextIteration(loop)
    loop.close()
    soon("a", lambda: pytest.fail("there is no turn any more"))

    assert loop.is_closed()
