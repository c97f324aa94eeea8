"""The official conformance suite passes against `examples/everything.py`, in both eras."""

import sys
import tomllib
from pathlib import Path

import pytest
from tests.conformance import suite as official
from tests.conformance.suite import UNLISTED, Results, differences, faults, successes

SERVE = [
    *(sys.executable, "-m", "toolhaft", "run", "examples/everything.py"),
    *("--http", "127.0.0.1:{port}"),
]
EXPECTED = tomllib.loads(Path(__file__).with_name("expected.toml").read_text(encoding="utf-8"))

# Once per machine, the first of these tests installs what all of them need.
installs = pytest.mark.timeout(500)


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """One run of the whole suite."""
    try:
        return official.run(official.installed(), SERVE, tmp_path_factory.mktemp("conformance"))
    except official.CannotRun as error:
        problem = str(error)
    pytest.fail(problem, pytrace=False)


def must_be_none(problems: list[str]) -> None:
    if problems:  # said without a traceback: what the suite found is enough
        pytest.fail("\n".join(problems), pytrace=False)


# The numbers keep us from a green run in which less is tested than we think. In the older revision
# there is a check more if the server answers lists with a stream.
@installs
@pytest.mark.parametrize(
    ("revision", "scenarios", "checks"), [("2025-11-25", 30, 41), ("2026-07-28", 37, 86)]
)
def test_the_server_conforms_to(
    results: Results, revision: str, scenarios: int, checks: int
) -> None:
    required = results.suite.required(revision)
    found = results.checks[revision]

    must_be_none([fault for name in required for fault in faults(name, found.get(name))])
    assert len(required) == scenarios
    assert sum(successes(found[name]) for name in required) >= checks


@installs
@pytest.mark.parametrize(("revision", "checks"), [("2025-11-25", 13), ("2026-07-28", 29)])
def test_what_is_not_required_passes_unless_we_know_why_not(
    results: Results, revision: str, checks: int
) -> None:
    optional = results.suite.not_scored(revision)
    optional += [scenario for scenario, spoken in UNLISTED.items() if spoken == revision]
    expected, found = EXPECTED[revision], results.checks[revision]

    must_be_none(differences(optional, expected, found))
    assert sum(successes(found[name]) for name in optional if name not in expected) >= checks


@installs
def test_the_server_meets_no_bug_of_its_own(results: Results) -> None:
    _, *found = results.log.split("Traceback (most recent call last):")

    must_be_none(found)
