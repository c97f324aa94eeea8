"""toolhaft beside itself without one of its optimisations: `run.py --without NAME,…`."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from footprint import SOURCE
from http_measuring import HttpContender
from measuring import HERE, Contender
from report import number, table
from results import WORKLOAD_OF, Results
from switches import DEFERRED, SWITCHES
from workloads import READY_CPU, START_CPU, Workload

WITH, WITHOUT = "with", "without"
ROW_OF = {**WORKLOAD_OF, START_CPU.name: START_CPU, READY_CPU.name: READY_CPU}
# Edges, which no server loads.
NOT_SERVERS = ("cli", "testing")


class UnknownSwitch(Exception):
    """There is no such optimisation, or not with this Python; the text says which there are."""


@dataclass(frozen=True)
class Switched(Contender):
    """toolhaft over stdio, started by `switched.py`."""

    switch: str = "-"
    record: Path = Path(os.devnull)
    starts: list[str] = field(default_factory=list)

    @property
    def script(self) -> Path:
        return HERE / "contenders" / "toolhaft_server.py"

    def command(self, *arguments: str) -> list[str]:
        self.starts.append(self.switch)
        wrapper = [str(HERE / "switched.py"), self.switch, str(self.record)]
        return [self.python, *wrapper, str(self.script), *arguments]

    @property
    def failure(self) -> str | None:
        """Why its figures say nothing, or None: the replacement was not used in each start."""
        used = self.record.read_text().splitlines() if self.record.exists() else []
        if self.switch == "-" or len(used) == len(self.starts):
            return None
        return f"{self.switch} was in effect in {len(used)} of {len(self.starts)} servers"


@dataclass(frozen=True)
class HttpSwitched(Switched, HttpContender):
    """The same over HTTP."""

    @property
    def script(self) -> Path:
        return HERE / "contenders" / "http_toolhaft.py"

    @property
    def python(self) -> str:
        return sys.executable


def pair(kind: type[Switched], switch: str, folder: Path) -> list[Switched]:
    """The two that are compared."""
    line = "from toolhaft import Server"
    record = folder / f"{kind.__name__}-{switch}"
    return [kind(WITH, line), kind(WITHOUT, line, switch=switch, record=record)]


def check_names(names: list[str]) -> None:
    """See to it that each of the optimisations can be switched off.

    Raises:
        UnknownSwitch: one of them cannot.
    """
    for name in names:
        if name not in SWITCHES:
            known = "\n".join(f"  {each:<18} {SWITCHES[each].meaning}" for each in SWITCHES)
            raise UnknownSwitch(f"no optimisation is called {name!r}; there are\n{known}")
        if sys.version_info < (since := SWITCHES[name].since):
            raise UnknownSwitch(f"{name} needs Python {since[0]}.{since[1]} or newer")


def rows_of(name: str, workloads: tuple[Workload, ...]) -> tuple[Workload, ...]:
    """Those of the workloads that show what an optimisation is for."""
    rows = [ROW_OF[row] for row in SWITCHES[name].rows]
    return tuple(row for row in rows if row in workloads)


def as_table(name: str, parts: list[Results]) -> str:
    """CPU time with and without an optimisation."""
    rows = []
    for results in parts:
        for workload in dict.fromkeys(workload for workload, _ in results.samples):
            kept, plain = (cpu(results, workload, each) for each in (WITH, WITHOUT))
            gain = f"{(1 - kept / plain) * 100:.1f} %" if kept and plain else ""
            unit = "ms" if workload.unit == "ms" else "µs per call"
            rows.append([f"{workload.title}, {unit}", number(kept), number(plain), gain])
    return table([f"CPU time, {name}", WITH, WITHOUT, "gain"], rows)


def cpu(results: Results, workload: Workload, contender: str) -> float | None:
    """CPU time of a call, or of the start."""
    if workload.unit == "ms":
        return results.figure(workload, contender)
    return results.beside(workload, contender)


def set_deferred() -> None:
    """Tell the servers which modules are imported inside of functions."""
    os.environ[DEFERRED] = ",".join(sorted(set(deferred_modules())))


def deferred_modules() -> Iterator[str]:
    """The modules that the library imports inside of functions."""
    root = SOURCE / "toolhaft"
    for path in root.rglob("*.py"):
        inner = path.relative_to(root)
        if inner.parts[0] in NOT_SERVERS:
            continue
        package = ["toolhaft", *inner.parent.parts]
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _imported_in(function, package)


def _imported_in(function: ast.AST, package: list[str]) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *([node.module] if node.module else [])]
            if node.module:
                yield ".".join(module)
            else:  # modules of a package
                yield from (".".join([*module, alias.name]) for alias in node.names)
