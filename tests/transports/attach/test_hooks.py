"""What a program wants done when a client comes, and when it has gone."""

import asyncio
import threading
from typing import Any

import pytest

from toolhaft import Server
from toolhaft.calls.run_on import place_of
from toolhaft.transports.attach.hooks import Hooks, Refused, import_hook


@pytest.fixture
def hooks() -> Hooks:
    return Hooks(Server("notes", version="1"), None)


class Done:
    """Writes down what was done, and where."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.threads: list[threading.Thread] = []

    def hook(self, name: str) -> Any:
        def act() -> None:
            self.calls.append(name)
            self.threads.append(threading.current_thread())

        return act

    def coroutine(self, name: str) -> Any:
        async def act() -> None:
            self.hook(name)()

        return act


async def test_one_comes_before_and_the_other_after(hooks: Hooks) -> None:
    done = Done()
    async with hooks.around(done.hook("init"), done.coroutine("stop")):
        done.calls.append("between")

    assert done.calls == ["init", "between", "stop"]


async def test_a_plain_function_gets_a_thread_and_a_coroutine_the_loop(hooks: Hooks) -> None:
    done = Done()
    async with hooks.around(done.hook("init"), done.coroutine("stop")):
        pass

    here = threading.current_thread()
    assert [thread is here for thread in done.threads] == [False, True]


async def test_both_run_where_the_program_wants_its_functions_to() -> None:
    done = Done()
    place = place_of(lambda function: function())
    hooks = Hooks(Server("notes", version="1"), place)
    async with hooks.around(done.hook("init"), done.coroutine("stop")):
        pass

    assert {thread is threading.current_thread() for thread in done.threads} == {True}


def fails() -> None:
    raise ValueError("no room")


def exits() -> None:
    raise SystemExit(3)


@pytest.mark.parametrize("init", [fails, exits])
async def test_if_the_first_fails_nobody_is_served_and_the_second_cleans_up(
    hooks: Hooks, init: Any, caplog: pytest.LogCaptureFixture
) -> None:
    done = Done()
    with pytest.raises(Refused, match=rf"init .*:{init.__name__} failed"):
        async with hooks.around(init, done.hook("stop")):
            pytest.fail("it is not served")

    assert done.calls == ["stop"]
    assert "so a client is not served" in caplog.text


@pytest.mark.parametrize("stop", [fails, exits])
async def test_if_the_second_fails_that_is_logged(
    hooks: Hooks, stop: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with hooks.around(None, stop):
        pass

    assert f":{stop.__name__} failed" in caplog.text


async def test_a_hook_that_raises_a_cancellation_of_its_own_has_failed(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    async def wait_for_something_that_is_cancelled() -> None:
        raise asyncio.CancelledError("mine")

    with pytest.raises(Refused, match="CancelledError: mine"):
        async with hooks.around(wait_for_something_that_is_cancelled, None):
            pass
    async with hooks.around(None, wait_for_something_that_is_cancelled):
        pass

    assert "stop" in caplog.text


async def test_who_is_cancelled_learns_of_it_when_the_function_has_ended(hooks: Hooks) -> None:
    begun, go_on, served = threading.Event(), threading.Event(), False
    done = Done()

    def init() -> None:
        begun.set()
        go_on.wait(15)
        done.calls.append("init")

    async def serve() -> None:
        nonlocal served
        async with hooks.around(init, done.hook("stop")):
            served = True

    task = asyncio.create_task(serve())
    await asyncio.to_thread(begun.wait, 15)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert done.calls == ["init", "stop"]
    assert not served


async def test_a_function_is_found_by_its_name(hooks: Hooks) -> None:
    assert await hooks.find(f"{__name__}:Done.hook") is Done.hook
    assert await hooks.find(None) is None


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("no_such_module:f", "ModuleNotFoundError"),
        ("json:no_such_function", "AttributeError"),
        ("json:__doc__", "is no function"),
        ("antigravity_of_mine", "cannot be had here"),
    ],
)
def test_what_is_not_there_cannot_be_had(reference: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        import_hook(reference)
