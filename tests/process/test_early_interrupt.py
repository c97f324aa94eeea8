"""Ctrl-C that comes where nobody hears it is remembered."""

import asyncio
import gc
import os
import signal
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from toolhaft.process import early_interrupt
from toolhaft.transports.http.servers.shutdown import Ending


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
    early_interrupt.take_interrupt()


class Thing:
    pass


def lose_an_interrupt() -> None:
    """As in a callback of a module's lock, in which what is raised is only printed."""
    thing = Thing()
    lost = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
    del thing
    gc.collect()
    assert lost() is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_service_that_begins_after_a_lost_interrupt_ends() -> None:
    app: Any = App()

    async def serve() -> None:
        left = asyncio.Event()
        with Ending(app, drain=1, leave=left.set).awaited():
            await asyncio.wait_for(left.wait(), 5)

    early_interrupt.install_handler()
    lose_an_interrupt()
    loop = asyncio.new_event_loop()  # not `asyncio.run`, which minds signals by itself
    loop.run_until_complete(serve())
    loop.close()

    assert app.told == ["end_streams", "hurry"]
    assert not early_interrupt.take_interrupt()


class App:
    """Nobody waits for an answer."""

    busy = False

    def __init__(self) -> None:
        self.told: list[str] = []

    def end_streams(self) -> None:
        self.told.append("end_streams")

    def hurry(self) -> None:
        self.told.append("hurry")


def test_an_interrupt_that_is_heard_is_raised_as_ever() -> None:
    early_interrupt.install_handler()

    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)

    assert early_interrupt.take_interrupt()


def test_what_the_program_does_with_ctrl_c_stays() -> None:
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    early_interrupt.install_handler()

    os.kill(os.getpid(), signal.SIGINT)

    assert heard == [signal.SIGINT]
    assert not early_interrupt.take_interrupt()
