"""The questions of a call over several rounds."""

from typing import Any

import pytest
from msgspec import Raw

from toolhaft import InvalidParams, ToolError
from toolhaft.protocol.elicitation.questions import Question, Unfit
from toolhaft.protocol.elicitation.rounds import Journal, given_answers
from toolhaft.types.rounds import ElicitUrlParams


def question(text: str = "Size?") -> Question:
    def read(answer: bytes) -> str:
        if answer == b'{"bad":1}':
            raise Unfit("it is bad")
        return answer.decode()

    params = ElicitUrlParams(mode="url", message=text, url="https://example.org")
    return Question("elicitation/create", params, (), read)


def asked(journal: Journal, *names: str, text: str = "Size?") -> tuple[dict[str, Any], list[str]]:
    answers, still_open = journal.look_up({name: question(text) for name in names})
    return answers, list(still_open)


def next_round(journal: Journal, **given: bytes) -> Journal:
    return Journal(journal.pages(), given)


GOOD = b'{"good":1}'
BAD = b'{"bad":1}'


def test_a_question_is_open_until_it_is_answered() -> None:
    first = Journal()
    assert asked(first, "size") == ({}, ["size"])

    second = next_round(first)
    assert asked(second, "size") == ({}, ["size"])

    third = next_round(second, size=GOOD)
    assert asked(third, "size") == ({"size": GOOD.decode()}, [])


def test_an_answer_is_remembered_in_later_rounds() -> None:
    first = Journal()
    asked(first, "size")
    second = next_round(first, size=GOOD)
    asked(second, "size")

    third = next_round(second, size=BAD)

    assert asked(third, "size") == ({"size": GOOD.decode()}, [])


def test_a_name_that_is_used_again_gets_a_number_and_so_does_no_name() -> None:
    journal = Journal()

    keys = [asked(journal, name)[1] for name in ("a", "", "a", "b", "", "a")]

    assert keys == [["a"], ["question-1"], ["a#2"], ["b"], ["question-2"], ["a#3"]]


def test_rounds_are_counted() -> None:
    first = Journal()

    assert [first.round, next_round(next_round(first)).round] == [1, 3]


def test_what_was_open_is_pending_until_it_is_asked_for() -> None:
    first = Journal()
    asked(first, "a", "b")

    second = next_round(first, a=GOOD)

    assert first.pending == set()
    assert second.pending == {"a", "b"}
    asked(second, "a")
    assert second.pending == {"b"}


def test_an_answer_to_what_was_not_asked_yet_is_used() -> None:
    assert asked(Journal(given={"size": GOOD}), "size") == ({"size": GOOD.decode()}, [])


def test_an_answer_that_does_not_fit_is_asked_for_three_times() -> None:
    journal = Journal()
    asked(journal, "size")
    for _ in range(2):
        journal = next_round(journal, size=BAD)
        assert asked(journal, "size") == ({}, ["size"])

    with pytest.raises(ToolError, match=r"'Size\?' 3 times with what does not fit: it is bad"):
        asked(next_round(journal, size=BAD), "size")


def test_answers_that_do_not_come_are_asked_for_as_long_as_there_are_rounds() -> None:
    journal = Journal()
    for _ in range(8):
        asked(journal, "size")
        journal = next_round(journal)

    assert asked(journal, "size") == ({}, ["size"])


def test_a_question_that_reads_differently_is_asked_anew_three_times() -> None:
    journal = Journal()
    asked(journal, "size", text="0")
    for number in range(1, 3):
        journal = next_round(journal, size=GOOD)
        assert asked(journal, "size", text=str(number)) == ({}, ["size"])

    with pytest.raises(ToolError, match="'size' reads differently each time"):
        asked(next_round(journal, size=GOOD), "size", text="3")


def test_a_question_that_changed_once_takes_the_new_answer() -> None:
    first = Journal()
    asked(first, "size", text="old")
    second = next_round(first, size=GOOD)
    asked(second, "size", text="new")

    third = next_round(second, size=b'{"other":1}')

    assert asked(third, "size", text="new") == ({"size": '{"other":1}'}, [])


def test_a_question_without_a_name_is_found_by_what_it_says() -> None:
    first = Journal()
    asked(first, "", text="A")
    asked(first, "", text="B")

    second = next_round(first, **{"question-1": b'{"a":1}', "question-2": b'{"b":1}'})

    assert asked(second, "", text="B") == ({"": '{"b":1}'}, [])
    assert asked(second, "", text="C") == ({}, ["question-3"])
    assert asked(second, "", text="A") == ({"": '{"a":1}'}, [])


def test_questions_that_say_the_same_have_an_answer_each() -> None:
    first = Journal()
    asked(first, "")
    asked(first, "")

    second = next_round(first, **{"question-1": b'{"a":1}', "question-2": b'{"b":1}'})

    assert [asked(second, "")[0][""] for _ in range(2)] == ['{"a":1}', '{"b":1}']


def test_a_name_like_one_of_ours_is_taken_by_one_question_alone() -> None:
    journal = Journal()

    keys = [asked(journal, name)[1] for name in ("k", "k", "k#2", "question-1", "", "k")]

    assert keys == [["k"], ["k#2"], ["k#2#2"], ["question-1"], ["question-2"], ["k#3"]]


def test_an_answer_is_kept_also_if_its_question_is_not_asked_in_that_round() -> None:
    first = Journal()
    asked(first, "size")
    second = next_round(first, size=GOOD)

    assert asked(next_round(second), "size") == ({"size": GOOD.decode()}, [])


def test_a_call_brings_so_many_answers_at_most() -> None:
    answers = ",".join(f'"{number}":{{}}' for number in range(1001))

    with pytest.raises(InvalidParams, match=r"params\.inputResponses: more than 1,000 answers"):
        given_answers(Raw(f"{{{answers}}}".encode()))
