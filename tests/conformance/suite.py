"""The official conformance suite: installed, run against a server, and its findings read.

The suite's own exit status is not enough: it passes over warnings, over checks that it skipped, and
over scenarios in which nothing was put to the test.
"""

import contextlib
import json
import re
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import nodejs

ROOT = Path(__file__).parents[2]
VERSION = "0.2.0-alpha.12"
PACKAGE = "@modelcontextprotocol/conformance"

REVISIONS = ("2025-11-25", "2026-07-28")
# Scenarios that belong to no revision's list, with the revision that they speak.
UNLISTED = {
    "sep-2640-skills-directory": "2026-07-28",
    "sep-2640-skills-enumeration": "2026-07-28",
    "sep-2640-skills-manifest": "2026-07-28",
}
# For a whole revision, which takes some four seconds.
PATIENCE = 60.0
# It succeeds even if the server never answered.
SCHEMA_CHECK = "wire-schema-valid"

Check = dict[str, Any]


class CannotRun(Exception):
    """The suite, or the server that it should test, does not run at all."""


# --- installing -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Suite:
    """The suite on this machine: a Node that fits, and the package."""

    node: str
    package: Path

    def required(self, revision: str) -> list[str]:
        """The scenarios that a server of this revision must pass."""
        servers = re.search(r"^server:\n((?:  - \S+\n)+)", self._list(revision), re.MULTILINE)
        return [] if servers is None else re.findall(r"- (\S+)", servers.group(1))

    def not_scored(self, revision: str) -> list[str]:
        """The scenarios that are run as well, but do not count."""
        return re.findall(r"- scenario: (\S+)\n +leg: server\n", self._list(revision))

    def command(self, url: str) -> list[str]:
        """How it is run against a server, up to the choice of scenarios."""
        return [self.node, str(self.package / "dist" / "index.js"), "server", "--url", url]

    def _list(self, revision: str) -> str:
        return (self.package / "requirements" / f"{revision}.yaml").read_text(encoding="utf-8")


def installed() -> Suite:
    """The suite, put beside the other tools of the tests if it is not there.

    Raises:
        CannotRun: it cannot be installed.
    """
    try:
        return Suite(nodejs.node(), nodejs.package(PACKAGE, VERSION))
    except nodejs.CannotInstall as error:
        raise CannotRun(str(error)) from None


# --- running --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Served:
    """A server that listens, and the file that its standard error goes to."""

    url: str
    log: Path


@contextlib.contextmanager
def served(command: Sequence[str], folder: Path) -> Iterator[Served]:
    """A server in a process of its own, with `{port}` in its command replaced by a free one.

    Raises:
        CannotRun: it ended, at the start or in the middle.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    log = folder / "server.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [word.replace("{port}", str(port)) for word in command],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
        ) as server,
    ):
        try:
            _await_port(server, port, log)
            yield Served(f"http://127.0.0.1:{port}/mcp", log)
            _must_live(server, log)
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()


def _await_port(server: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    for _ in range(400):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(0.05)  # that it does not end is what we hope for
        _must_live(server, log)
    raise CannotRun(f"the server does not listen after 20 s:\n{_tail(log)}")


def _must_live(server: "subprocess.Popen[bytes]", log: Path) -> None:
    if server.poll() is not None:
        raise CannotRun(f"the server ended with status {server.returncode}:\n{_tail(log)}")


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-3000:]


@dataclass(frozen=True)
class Results:
    """What the suite found, by revision and scenario; and what the server had to say meanwhile."""

    suite: Suite
    checks: dict[str, dict[str, list[Check]]]
    log: str


def run(suite: Suite, server: Sequence[str], folder: Path) -> Results:
    """Both revisions at once, against one server; then what is in neither list.

    Raises:
        CannotRun: the server does not run, or the suite does not.
    """
    with served(server, folder) as running:
        ask = suite.command(running.url)
        _finish([_start([*ask, "--requirements", each], folder / each) for each in REVISIONS])
        _finish(
            [
                _start([*ask, "--scenario", scenario], folder / revision, log=scenario)
                for scenario, revision in UNLISTED.items()
            ]
        )
    found = {revision: _read(folder / revision) for revision in REVISIONS}
    return Results(suite, found, running.log.read_text(encoding="utf-8", errors="replace"))


def _start(
    command: Sequence[str], results: Path, *, log: str = "suite"
) -> "subprocess.Popen[bytes]":
    results.mkdir(exist_ok=True)
    with (results / f"{log}.log").open("wb") as printed:
        return subprocess.Popen(
            [*command, "--output-dir", str(results)],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
        )


def _finish(runs: Sequence["subprocess.Popen[bytes]"]) -> None:
    for each in runs:
        try:
            each.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # what it did not get to will be missed in its results
            each.kill()
            each.wait()


def _read(folder: Path) -> dict[str, list[Check]]:
    """The checks of each scenario that has left any.

    Raises:
        CannotRun: none has.
    """
    found = {}
    for path in sorted(folder.glob("server-*/checks.json")):
        scenario = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", path.parent.name)
        if scenario is not None:
            found[scenario.group(1)] = json.loads(path.read_bytes())
    if not found:
        raise CannotRun(f"the suite has left no results:\n{_tail(folder / 'suite.log')}")
    return found


# --- judging --------------------------------------------------------------------------------------

_FAULTS = ("FAILURE", "WARNING", "SKIPPED")


def faults(scenario: str, checks: Sequence[Check] | None) -> list[str]:
    """What is wrong with a scenario, one line each: also that it has shown nothing."""
    if checks is None:
        return [f"{scenario}: it did not run"]
    found = [_line(scenario, check) for check in checks if check["status"] in _FAULTS]
    if not found and not successes(checks):
        return [f"{scenario}: nothing was put to the test"]
    return found


def differences(
    optional: Iterable[str], expected: Mapping[str, str], found: Mapping[str, Sequence[Check]]
) -> list[str]:
    """What is wrong with scenarios that need not pass, but for those that are expected not to.

    Args:
        expected: scenarios that do not pass, each with the reason.
    """
    problems = [
        fault
        for scenario in optional
        if scenario not in expected
        for fault in faults(scenario, found.get(scenario))
    ]
    for scenario in expected:
        if scenario not in found:
            problems.append(f"{scenario}: expected not to pass, but it did not run at all")
        elif not faults(scenario, found[scenario]):
            problems.append(f"{scenario}: expected not to pass, but it does")
    return problems


def successes(checks: Sequence[Check]) -> int:
    """How many checks have shown something."""
    return sum(check["status"] == "SUCCESS" and check["id"] != SCHEMA_CHECK for check in checks)


def _line(scenario: str, check: Check) -> str:
    words = " ".join(str(check.get("errorMessage") or check.get("description", "")).split())
    details = json.dumps(check["details"], ensure_ascii=False) if check.get("details") else ""
    told = f"{check['status']} {words} {details}".rstrip()
    return f"{scenario}: {check['id']}: {told[:600]}"
