"""The line of one HTTP request: what waits for a client, and who waits because of it."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from toolhaft.protocol.calls import READY
from toolhaft.transports.http.pending_reply import Reply

HIGH = 100
FRAME = b"x" * 60
# More than a client may be behind by.
FLOOD = b"x" * (9 * HIGH)


def new_reply() -> Reply:
    return Reply(asyncio.get_running_loop(), threading.get_ident(), HIGH)


async def asleep() -> None:
    """What writes to a client that does not read."""
    await asyncio.get_running_loop().create_future()


class Slow(bytes):
    """Another thread has its turn while somebody counts."""

    def __len__(self) -> int:
        time.sleep(0)
        return super().__len__()


async def a_moment_later(seconds: float = 0.1) -> None:
    await asyncio.sleep(seconds)


def on_thread(work: Callable[[], Any]) -> "asyncio.Future[None]":
    """Is done when the work is. It may hang, and holds up nobody then."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def run() -> None:
        work()
        loop.call_soon_threadsafe(done.set_result, None)

    threading.Thread(target=run, daemon=True).start()
    return done


class Loop:
    """The running loop. It counts how often a thread wakes it up, and does something when it is
    asked for a future."""

    def __init__(self, before_future: Callable[[], Any] = lambda: None) -> None:
        self._loop = asyncio.get_running_loop()
        self._before_future = before_future
        self.woken = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def create_future(self) -> "asyncio.Future[Any]":
        self._before_future()
        return self._loop.create_future()

    def call_soon_threadsafe(self, *args: Any) -> Any:
        self.woken += 1
        return self._loop.call_soon_threadsafe(*args)


def answer_on_thread(reply: Reply) -> None:
    """Is over when the thread is."""
    thread = threading.Thread(target=reply.answer, args=(b"{}", None))
    thread.start()
    thread.join()


# Waking up


async def test_an_answer_that_nothing_waits_for_wakes_nothing_up() -> None:
    loop: Any = Loop()
    reply = Reply(loop, threading.get_ident(), HIGH)

    answer_on_thread(reply)

    assert loop.woken == 0
    assert await reply.changed()


async def test_an_answer_that_is_waited_for_wakes_the_loop_up() -> None:
    loop: Any = Loop()
    reply = Reply(loop, threading.get_ident(), HIGH)
    waits = asyncio.ensure_future(reply.changed())
    await asyncio.sleep(0)

    answer_on_thread(reply)

    assert await asyncio.wait_for(waits, 5)
    assert loop.woken == 1


async def test_an_answer_that_comes_when_the_wait_begins_is_not_missed() -> None:
    loop: Any = Loop(lambda: answer_on_thread(reply))
    reply = Reply(loop, threading.get_ident(), HIGH)

    assert await asyncio.wait_for(reply.changed(), 5)
    assert loop.woken == 0


# Room


async def test_it_is_full_when_more_waits_than_may() -> None:
    reply = new_reply()
    reply.send(FRAME)
    at_first = reply.is_full
    reply.send(FRAME)

    assert (at_first, reply.is_full) == (False, True)


async def test_who_takes_makes_room() -> None:
    reply = new_reply()
    reply.send(FLOOD)
    waits = asyncio.ensure_future(reply.drained())
    await asyncio.sleep(0)
    before = waits.done()

    assert reply.take() == [FLOOD]
    await asyncio.wait_for(waits, 5)
    assert (before, reply.is_full) == (False, False)
    assert reply.drained() is READY


async def test_what_many_threads_send_is_counted() -> None:
    reply = Reply(asyncio.get_running_loop(), threading.get_ident(), 8 * 1000 - 1)

    def send() -> None:
        for _ in range(1000):
            reply.send(Slow(b"x"))

    await asyncio.gather(*(on_thread(send) for _ in range(8)))
    was_full = reply.is_full

    assert len(reply.take()) == 8000
    assert (was_full, reply.is_full) == (True, False)
    # Nothing is left of the count: only this one waits.
    reply.send(b"x" * (8 * 1000 - 1))
    assert not reply.is_full


async def test_a_thread_waits_for_room() -> None:
    reply = new_reply()
    reply.send(FLOOD)
    waits = on_thread(reply.throttle)
    await a_moment_later(0.02)
    before = waits.done()
    reply.take()

    await asyncio.wait_for(waits, 5)
    assert not before


async def test_nobody_waits_for_a_client_that_has_left() -> None:
    reply = new_reply()
    reply.send(FLOOD)
    waits = asyncio.ensure_future(reply.drained())
    throttled = on_thread(reply.throttle)
    await asyncio.sleep(0.02)
    reply.leave()

    await asyncio.wait_for(asyncio.gather(waits, throttled), 5)
    reply.send(FLOOD)
    assert not reply.is_full


async def test_who_waits_for_messages_learns_that_the_client_has_left() -> None:
    reply = new_reply()
    waits = asyncio.ensure_future(reply.changed())
    await asyncio.sleep(0)
    reply.leave()

    assert await asyncio.wait_for(waits, 5)
    assert reply.gone


async def test_what_is_kept_for_a_client_that_may_come_back_is_bounded() -> None:
    reply = new_reply()
    reply.leave()
    reply.send(FLOOD)
    before = reply.is_full
    reply.stay()

    assert (before, reply.is_full, reply.gone) == (False, True, False)
    assert reply.take() == [FLOOD]
    assert not reply.is_full


async def test_a_client_that_may_come_back_with_nothing_to_read_holds_up_nobody() -> None:
    reply = new_reply()
    reply.leave()
    reply.stay()

    assert not reply.is_full
    assert reply.drained() is READY


async def test_what_comes_for_a_client_that_will_not_come_back_is_lost() -> None:
    reply = new_reply()
    reply.send(FLOOD)
    reply.discard()
    reply.send(FRAME)

    assert reply.frames == []
    assert not reply.is_full


# Clients that do not read


async def test_a_client_that_does_not_read_is_let_go() -> None:
    reply = new_reply()
    reply.writer, reply.held = asyncio.ensure_future(asleep()), True
    reply.send(FLOOD)
    reply.send(FRAME)
    await asyncio.wait({reply.writer}, timeout=5)

    assert reply.writer.cancelled()
    assert (reply.interrupted, reply.gone, reply.is_full) == (True, True, False)


async def test_a_client_that_reads_is_not_let_go_for_a_burst() -> None:
    reply = new_reply()
    reply.writer, reply.held = asyncio.ensure_future(asleep()), True
    reply.send(FLOOD)
    reply.send(FRAME)
    reply.writes += 1  # meanwhile something was taken
    await a_moment_later()

    assert not reply.writer.done()
    assert (reply.interrupted, reply.gone) == (False, False)
    reply.writer.cancel()


async def test_a_client_that_catches_up_is_not_let_go() -> None:
    reply = new_reply()
    reply.writer, reply.held = asyncio.ensure_future(asleep()), True
    reply.send(FLOOD)
    reply.send(FRAME)
    reply.take()
    await a_moment_later()

    assert not reply.writer.done()
    assert not reply.gone
    reply.writer.cancel()


async def test_who_was_found_to_read_can_be_suspected_again() -> None:
    reply = new_reply()
    reply.writer, reply.held = asyncio.ensure_future(asleep()), True
    reply.send(FLOOD)
    reply.send(FRAME)
    reply.writes += 1
    for _ in range(500):
        if reply._suspected is not None:
            await asyncio.sleep(0.01)
    reply.send(FRAME)
    await asyncio.wait({reply.writer}, timeout=5)

    assert reply.writer.cancelled()


# The rest of a call that is over


async def test_the_rest_are_the_messages_and_the_answer() -> None:
    reply = new_reply()
    reply.send(b"one")
    reply.answer(b"two", None)

    assert reply.rest() == [b"one", b"two"]


async def test_the_rest_of_a_call_that_nobody_wants_has_no_answer() -> None:
    reply = new_reply()
    reply.send(b"one")
    reply.answer(None, None)

    assert reply.rest() == [b"one"]


@pytest.mark.parametrize("answer", [b"two", None])
async def test_what_comes_after_the_answer_is_not_in_the_rest(answer: bytes | None) -> None:
    reply = new_reply()
    reply.send(b"one")
    reply.answer(answer, None)
    rest = reply.rest()
    reply.send(b"late")

    assert rest == ([b"one"] if answer is None else [b"one", answer])


async def test_nobody_waits_for_room_after_the_answer() -> None:
    reply = new_reply()
    reply.answer(b"two", None)
    reply.send(FLOOD)

    assert not reply.is_full


async def test_nobody_waits_when_the_rest_is_taken() -> None:
    reply = new_reply()
    reply.send(FLOOD)
    throttled = on_thread(reply.throttle)
    await asyncio.sleep(0.02)
    reply.answer(b"two", None)
    reply.rest()

    await asyncio.wait_for(throttled, 5)
    assert not reply.is_full
