"""Log records on stderr: whatever becomes of stderr, the thread that writes to it goes on."""

import io
import sys
from typing import Any

import pytest

from toolhaft.runtime.stderr import Drain


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

    assert seen.getvalue() == "second\n"
