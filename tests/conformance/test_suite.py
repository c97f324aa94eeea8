"""What the suite finds is judged: what it passes over, we do not."""

import pytest
from tests.conformance.suite import differences, faults, successes

PASSED = {"id": "tools-list", "status": "SUCCESS"}
VALID = {"id": "wire-schema-valid", "status": "SUCCESS"}
NOTE = {"id": "incoming-response", "status": "INFO"}


def test_a_scenario_whose_checks_succeed_has_no_fault() -> None:
    assert faults("tools-list", [PASSED, VALID, NOTE]) == []


@pytest.mark.parametrize("status", ["FAILURE", "WARNING", "SKIPPED"])
def test_any_other_check_is_a_fault(status: str) -> None:
    check = {"id": "order", "status": status, "errorMessage": "not\nsorted", "details": {"at": 1}}

    assert faults("tools-list", [PASSED, check]) == [
        f'tools-list: order: {status} not sorted {{"at": 1}}'
    ]


def test_a_fault_without_a_message_is_told_by_its_description() -> None:
    check = {"id": "order", "status": "FAILURE", "description": "Tools are sorted"}

    assert faults("tools-list", [check]) == ["tools-list: order: FAILURE Tools are sorted"]


def test_a_scenario_that_did_not_run_is_a_fault() -> None:
    assert faults("tools-list", None) == ["tools-list: it did not run"]


@pytest.mark.parametrize("checks", [[], [NOTE], [VALID, NOTE]])
def test_a_scenario_that_has_shown_nothing_is_a_fault(checks: list[dict[str, str]]) -> None:
    assert faults("tools-list", checks) == ["tools-list: nothing was put to the test"]


def test_valid_messages_alone_are_no_success() -> None:
    assert successes([PASSED, VALID, NOTE, PASSED]) == 2


def test_what_need_not_pass_may_fail_if_that_is_expected() -> None:
    failed = {"id": "x", "status": "FAILURE"}

    assert differences(["tasks"], {"tasks": "later"}, {"tasks": [failed]}) == []
    assert differences(["tasks"], {}, {"tasks": [failed]}) == ["tasks: x: FAILURE"]


def test_an_expectation_that_is_not_met_is_a_fault() -> None:
    assert differences(["tasks"], {"tasks": "later"}, {"tasks": [PASSED]}) == [
        "tasks: expected not to pass, but it does"
    ]
    assert differences([], {"taks": "later"}, {}) == [
        "taks: expected not to pass, but it did not run at all"
    ]
