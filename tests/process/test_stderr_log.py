"""Log records on stderr: whatever becomes of stderr, the thread that writes to it goes on."""

import io
import logging
import re
import sys
from typing import Any

import pytest

from toolhaft import Server
from toolhaft.process.stderr_log import Drain
from toolhaft.testing import play


class Rude(io.StringIO):
    """What a tool may have put in place of stderr."""

    def write(self, text: str) -> int:
        raise RuntimeError("no")


def _closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize(
    "stream", [None, _closed(), Rude(), object()], ids=["none", "closed", "rude", "no stream"]
)
def test_what_is_put_in_place_of_stderr_does_not_end_the_log(
    stream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    drain, seen = Drain(), io.StringIO()

    monkeypatch.setattr(sys, "stderr", stream)
    drain.put("first\n")
    drain.flush()
    monkeypatch.setattr(sys, "stderr", seen)
    drain.put("second\n")
    drain.flush()

    assert seen.getvalue() == "second\n(1 lines were lost)\n"


class Broken(logging.Handler):
    """A handler of the author's own."""

    def emit(self, record: logging.LogRecord) -> None:
        raise RuntimeError("in a handler")


def _fails_on_a_thread() -> None:
    raise ValueError


async def _fails() -> None:
    raise ValueError


@pytest.mark.parametrize("tool", [_fails, _fails_on_a_thread], ids=lambda each: each.__name__)
async def test_a_handler_that_raises_does_not_keep_a_client_from_its_answer(
    tool: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    server = Server("s")
    server.add_tool(tool, name="tool")
    broken = Broken()
    logging.getLogger().addHandler(broken)
    try:
        played = await play(server, "tool")
    finally:
        logging.getLogger().removeHandler(broken)

    [mark] = re.findall(r"^tool 'tool' failed: ValueError \(error (\w+)\)$", played.text)
    assert (
        "a handler of the log raised RuntimeError; told was: ('%s failed (error %s)', \"tool "
        in (said := capfd.readouterr().err)
    )
    assert mark in said
