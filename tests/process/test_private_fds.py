"""What stands in for `sys.stdout`: it can what a real one can, and says once who has printed."""

import codecs
import contextlib
import inspect
import io
import logging
import pprint
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from tests.processes.fixtures import Served

from toolhaft.process import private_fds
from toolhaft.process.private_fds import DivertedStdout


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would go to stderr."""
    texts: list[str] = []

    class Heard:
        put = staticmethod(texts.append)

    monkeypatch.setattr(private_fds, "drain", Heard)
    return texts


def test_a_server_may_set_up_its_stdout(served: Served) -> None:
    client = served(
        """
        sys.stdout.reconfigure(encoding="utf-8", line_buffering=True)
        print("set up: ü")
        """
    )

    with client:
        client.ping()

    assert client.exit_status == 0
    assert "set up: ü\n" in client.stderr


def test_it_has_what_a_real_one_has() -> None:
    names = {name for name in dir(io.TextIOWrapper) if not name.startswith("_")}

    assert {name for name in names if not hasattr(DivertedStdout(), name)} == set()
    assert all(hasattr(DivertedStdout().buffer, name) for name in ("mode", "name", "raw"))


def test_it_is_written_to_whatever_was_done_to_it(heard: list[str]) -> None:
    stdout: Any = DivertedStdout()

    stdout.reconfigure(encoding="latin-1", errors="strict", newline="", write_through=True)
    stdout.close()
    stdout.buffer.close()
    print("one €", file=stdout)
    stdout.buffer.write(b"two\n")

    assert "".join(heard[1:]) == "one €\ntwo\n"
    assert not stdout.closed


def _around(buffer: Any) -> Any:
    return io.TextIOWrapper(buffer, encoding="utf-8", line_buffering=True)


def _codec(buffer: Any) -> Any:
    return codecs.getwriter("utf-8")(buffer)


@pytest.mark.parametrize("wrap", [_around, _codec])
@pytest.mark.parametrize(
    "bytes_of", [lambda: DivertedStdout().buffer, lambda: DivertedStdout().detach()]
)
def test_another_may_be_put_around_its_bytes(
    heard: list[str], wrap: Callable[[Any], Any], bytes_of: Callable[[], Any]
) -> None:
    print("wrapped: ü", file=wrap(bytes_of()))

    assert "".join(heard[1:]) == "wrapped: ü\n"


def _print() -> None:
    print("x")  # noqa: T201


def _print_prettily() -> None:
    pprint.pprint("x")  # noqa: T203


def _write_bytes() -> None:
    sys.stdout.buffer.write(b"x")


def _write_lines() -> None:
    sys.stdout.writelines(["x"])


def _log() -> None:
    logging.StreamHandler(sys.stdout).handle(logging.makeLogRecord({"msg": "logged"}))


def _trace() -> None:
    traceback.print_stack(file=sys.stdout)


@pytest.mark.parametrize("say", [_print, _print_prettily, _write_bytes, _write_lines, _log, _trace])
def test_who_has_printed_is_told_once(heard: list[str], say: Callable[[], object]) -> None:
    with contextlib.redirect_stdout(DivertedStdout()):
        say()
        say()

    [told] = [each for each in heard if "stdout belongs to the protocol" in each]
    assert told.endswith(f" {__file__}:{inspect.getsourcelines(say)[1] + 1}\n")


def test_bytes_that_are_no_text_are_shown(heard: list[str]) -> None:
    buffer = DivertedStdout().buffer

    assert buffer.write(b"\xff\n") == 2
    assert buffer.write(memoryview(b"x")) == 1
    assert heard[1:] == ["\\xff\n", "x"]
