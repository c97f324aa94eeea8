"""The garbage collector while modules are loaded."""

import gc
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from toolhaft.import_without_gc import WithoutGc


@pytest.fixture(autouse=True)
def at_work() -> Iterator[None]:
    yield
    gc.enable()


def test_the_collector_rests_and_goes_on() -> None:
    with WithoutGc():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_it_goes_on_after_an_error() -> None:
    with pytest.raises(ImportError, match="gone"), WithoutGc():
        raise ImportError("gone")

    assert gc.isenabled()


def test_a_collector_that_its_owner_has_stopped_stays_so() -> None:
    gc.disable()

    with WithoutGc():
        assert not gc.isenabled()

    assert not gc.isenabled()


def test_blocks_may_be_nested() -> None:
    with WithoutGc():
        with WithoutGc():
            assert not gc.isenabled()
        assert not gc.isenabled()

    assert gc.isenabled()


def test_who_comes_while_another_ends_does_not_stop_it_for_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = WithoutGc(), WithoutGc()
    first.__enter__()

    def asked_just_before_the_first_ends() -> bool:
        at_work = gc.isenabled()
        first.__exit__()
        return at_work

    with monkeypatch.context() as patched:
        patched.setattr(
            "toolhaft.import_without_gc.gc",
            SimpleNamespace(
                isenabled=asked_just_before_the_first_ends, disable=gc.disable, enable=gc.enable
            ),
        )
        second.__enter__()
    second.__exit__()

    assert gc.isenabled()
