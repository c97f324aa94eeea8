"""The fast part of the tests starts no process."""

import pytest
from tests.fast import refuse


def test_a_process_that_a_fast_test_starts_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"mark it with pytest\.mark\.process"):
        refuse("subprocess.Popen", ())


def test_what_starts_no_process_is_let_pass() -> None:
    refuse("open", ())


def test_between_tests_a_process_may_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")

    refuse("subprocess.Popen", ())
