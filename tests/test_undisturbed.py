"""The garbage collector while modules are loaded."""

import gc
from collections.abc import Iterator

import pytest

from toolhaft.undisturbed import Undisturbed


@pytest.fixture(autouse=True)
def at_work() -> Iterator[None]:
    yield
    gc.enable()


def test_the_collector_rests_and_goes_on() -> None:
    with Undisturbed():
        assert not gc.isenabled()

    assert gc.isenabled()


def test_it_goes_on_after_an_error() -> None:
    with pytest.raises(ImportError, match="gone"), Undisturbed():
        raise ImportError("gone")

    assert gc.isenabled()


def test_a_collector_that_its_owner_has_stopped_stays_so() -> None:
    gc.disable()

    with Undisturbed():
        assert not gc.isenabled()

    assert not gc.isenabled()


def test_blocks_may_be_nested() -> None:
    with Undisturbed():
        with Undisturbed():
            assert not gc.isenabled()
        assert not gc.isenabled()

    assert gc.isenabled()
