"""A call that has failed leaves nothing behind, not even until the garbage is collected.

What was sent with it may be megabytes, and a client can make many calls before anybody collects.
"""

import asyncio
import gc
import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any
from weakref import WeakSet

import pytest
from msgspec import Raw

from toolhaft import Depends, NotFound, Server, ToolError
from toolhaft.features.functions.signature import BadArguments, Signature
from toolhaft.testing import play


class Held:
    """What the functions are given."""


held: WeakSet[Held] = WeakSet()


def _given() -> Held:
    made = Held()
    held.add(made)
    return made


Given = Annotated[Held, Depends(_given)]


@pytest.fixture(autouse=True)
def nobody_collects() -> Iterator[None]:
    gc.collect()
    gc.disable()
    logging.disable()  # a record of the log holds its error, which is right
    yield
    logging.disable(logging.NOTSET)
    gc.enable()


def on_a_thread(given: Given) -> str:
    raise ValueError("no")


def by_purpose(given: Given) -> str:
    raise ToolError("no")


def not_found(given: Given) -> str:
    raise NotFound("no")


async def at_once(given: Given) -> str:
    raise ValueError("no")


async def later(given: Given) -> str:
    await asyncio.sleep(0)
    raise SystemExit("no")


def in_the_middle(given: Given) -> Iterator[str]:
    yield "one"
    raise ValueError("no")


def a_wrong_result(given: Given) -> int:
    return "text"  # type: ignore[return-value]


def what_cannot_be_sent(given: Given) -> Any:
    return object()


FUNCTIONS = [
    on_a_thread, by_purpose, not_found, at_once, later, in_the_middle, a_wrong_result,
    what_cannot_be_sent,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
async def test_a_tool_that_failed_is_forgotten(function: Any) -> None:
    server = Server("s")
    server.add_tool(function, name="tool")

    failed = await play(server, "tool")

    await _is_forgotten()
    assert failed.error is not None or failed.result["isError"] is True


async def _is_forgotten() -> None:
    for _ in range(200):  # a thread lets go a moment after its answer
        if not held:
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"{len(held)} are still held")


def test_arguments_that_do_not_fit_are_forgotten() -> None:
    def takes(a: int, b: list[dict[str, int]]) -> None: ...

    signature = Signature(takes, "tool 't'")
    for arguments in (b'{"a":"x","b":[{"c":"d"}]}', b'{"b":5}', b'{"a":1,"b":[],"c":2}'):
        with pytest.raises(BadArguments):
            signature.bind(Raw(arguments))
        gc.collect()
        with suppress(BadArguments):
            signature.bind(Raw(arguments))
        assert gc.collect() == 0
