"""What is told to a log whose handlers raise."""

import logging

import pytest

from toolhaft.process.safe_logging import log_safely


class Broken(logging.Handler):
    """The handler of an author who did not test it."""

    def emit(self, record: logging.LogRecord) -> None:
        raise ValueError(record.getMessage())


def test_a_handler_that_raises_ends_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    log = logging.Logger("broken")
    log.addHandler(Broken())

    log_safely(log.error, "%s failed", "this")

    said = capfd.readouterr().err
    assert said == (
        "toolhaft: a handler of the log raised ValueError; told was: ('%s failed', 'this')\n"
    )


def test_a_handler_that_works_is_all_there_is(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    log_safely(logging.getLogger("works").error, "%s failed", "this")

    assert caplog.messages == ["this failed"]
    assert "raised" not in capfd.readouterr().err
