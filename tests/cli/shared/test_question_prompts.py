"""Tools that ask, answered by `--answer` and by a person at a terminal."""

from pathlib import Path

import pytest
from tests.cli.running import toolhaft, write_server
from tests.cli.shared.asking_server import ASKING

ERAS = ["2026-07-28", "2025-11-25"]
each_era = pytest.mark.parametrize("era", ERAS)


# By the command line


@each_era
@pytest.mark.parametrize(
    ("tool", "answers", "told"),
    [
        ("book", ["row=3"], "Accepted(value=Seat(row=3, side='l', quiet=False, note=None))"),
        (
            "book",
            ["row=3", "side=Right", "quiet=y", "note=by the door"],
            "Accepted(value=Seat(row=3, side='r', quiet=True, note='by the door'))",
        ),
        ("book", ['{"row": 4}'], "Accepted(value=Seat(row=4, side='l', quiet=False, note=None))"),
        ("book", ["decline"], "Declined()"),
        ("book", ["cancel"], "Cancelled()"),
        ("twice", ["value=a", "value=b"], "Accepted(value='a') Accepted(value='b')"),
        ("twice", ["decline", "value=b"], "Declined() Accepted(value='b')"),
        ("twice", ["value=a", '{"value": "b"}'], "Accepted(value='a') Accepted(value='b')"),
        ("several", ["value=a, 3"], "Accepted(value=['a', 'c'])"),
        ("pay", ["accept"], "Accepted(value=None)"),
        ("pay", ["decline"], "Declined()"),
        ("adapt", ["x=1"], "asks"),
    ],
)
def test_answers_are_given(
    tmp_path: Path, era: str, tool: str, answers: list[str], told: str
) -> None:
    write_server(tmp_path, ASKING)
    words = [word for answer in answers for word in ("--answer", answer)]

    done = toolhaft("call", "author.py", tool, "--revision", era, *words, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, f"{told}\n"), done.stderr
    assert done.stderr == ("note: no question has used --answer x\n" if tool == "adapt" else "")


@each_era
@pytest.mark.parametrize(
    ("tool", "answers", "told"),
    [
        ("book", ["row=x"], "row: expected an integer, got 'x'"),
        ("book", ["row=1", "side=up"], "side: expected one of l, r, got 'up'"),
        ("book", ['{"row": "x"}'], "row"),
        ("book", ["note=x"], "this asks 'Which seat?', for row (int); side (1 l: Left, 2 r: Right"),
        ("twice", ["value=a"], "this asks 'Second?', for value (str); answer with --answer value="),
        ("pay", ["x=1"], "this asks 'Pay, please.', and to open https://example.org/pay; answer w"),
        (
            "book",
            ["-"],
            "--answer takes NAME=VALUE, a JSON object, accept, decline, cancel or show",
        ),
        ("book", ["accept"], "this asks 'Which seat?', for row (int); side"),
        ("book", ["accept"], "; answer with --answer row=… or --answer decline, or run it in a te"),
        ("book", ['{"note": "x"}'], "; answer with --answer row=… or --answer decline, or run it"),
        ("book", ["show"], "this asks 'Which seat?', for row (int); side (1 l: Left, 2 r: Right"),
        ("twice", ["value=a", "show"], "this asks 'Second?', for value (str); answer with --answ"),
        ("pay", ["show"], "this asks 'Pay, please.', and to open https://example.org/pay; answer"),
        ("book", ["row"], "'row' is no answer; --answer takes NAME=VALUE, a JSON object, accept"),
    ],
)
def test_what_does_not_answer_is_told(
    tmp_path: Path, era: str, tool: str, answers: list[str], told: str
) -> None:
    write_server(tmp_path, ASKING)
    words = [f"--answer={answer}" for answer in answers]

    done = toolhaft("call", "author.py", tool, "--revision", era, *words, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("toolhaft: ")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@each_era
def test_without_an_answer_and_a_person_nothing_is_promised(tmp_path: Path, era: str) -> None:
    write_server(tmp_path, ASKING)

    asked = toolhaft("call", "author.py", "book", "--revision", era, cwd=tmp_path)
    adapted = toolhaft("call", "author.py", "adapt", "--revision", era, cwd=tmp_path)
    model = toolhaft("call", "author.py", "think", "--revision", era, cwd=tmp_path)
    roots = toolhaft("call", "author.py", "folders", "--revision", era, cwd=tmp_path)

    assert asked.returncode in (4, 5)
    words = "it asks the user: --answer show shows what, --answer NAME=VALUE answers it; or run"
    assert words in asked.stderr
    assert adapted.stdout == "does without\n"
    assert "asks for a language model, which toolhaft has not" in model.stderr
    assert "asks for the folders of its client, and there are none here" in roots.stderr


@pytest.mark.parametrize(
    ("tool", "revision", "needed"),
    [("book", "2025-03-26", "2025-06-18"), ("pay", "2025-06-18", "2025-11-25")],
)
def test_a_revision_without_questions_is_told_from_one_with_them(
    tmp_path: Path, tool: str, revision: str, needed: str
) -> None:
    write_server(tmp_path, ASKING)

    done = toolhaft(
        "call", "author.py", tool, "--answer", "row=1", "--revision", revision, cwd=tmp_path
    )

    assert done.returncode == 5
    assert f"; such questions need revision {needed} or later; see --revision\n" in done.stderr
    assert "in a terminal" not in done.stderr
