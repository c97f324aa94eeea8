"""The fields of a form, as a person fills them in."""

from pathlib import Path

import pytest
from tests.cli.running import write_server
from tests.cli.shared.asking_server import ASKING, at_terminal

ERAS = ["2026-07-28", "2025-11-25"]


each_era = pytest.mark.parametrize("era", ERAS)


@each_era
def test_a_person_fills_in_a_form(tmp_path: Path, era: str) -> None:
    write_server(tmp_path, ASKING)
    typed = ["\n", "x\n", "7\n", "up\n", "2\n", "maybe\n", "y\n", "\n"]

    status, stdout, shown = at_terminal(tmp_path, typed, "book", "--revision", era)

    assert (status, stdout) == (
        0,
        "Accepted(value=Seat(row=7, side='r', quiet=True, note=None))\n",
    ), shown
    assert shown.startswith("Which seat?\n  (- declines, Ctrl-D cancels)\n  row (int): ")
    assert "  row is required\n" in shown
    assert "  row: expected an integer, got 'x'\n" in shown
    assert '  side (1 l: Left, 2 r: Right = "l"): ' in shown
    assert "  side: expected one of l, r, got 'up'\n" in shown
    assert "  quiet (y/n = false): " in shown
    assert "  note (str, may be left empty): " in shown
