"""Running contenders: the load generator on a server, and the import of a package."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import msgspec
from homes import python_of
from workloads import (
    IMPORT,
    MEMORY,
    PARTS,
    READY,
    READY_CPU,
    START,
    START_CPU,
    Stage,
    Workload,
    phase_name,
    plan,
)

HERE = Path(__file__).resolve().parent
LOAD_HEADER = HERE / "load.h"
CACHE = HERE / ".cache"

STAGE_DEADLINE = 90.0  # seconds; mcp and fastmcp need about ten to register 5,000 tools
IMPORT_DEADLINE = 30.0
IMPORTS = 3  # per contender and round, each after a start of Python without it

# Common on build machines; each would make one contender or all of them slower than in daily use.
PYTHON_SETTINGS = {
    "PYTHONASYNCIODEBUG",
    "PYTHONDEVMODE",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONMALLOC",
    "PYTHONTRACEMALLOC",
    "PYTHONUNBUFFERED",
}


class CannotMeasure(Exception):
    """Something that the benchmark needs is missing or did not work; the text says what."""


@dataclass(frozen=True)
class Contender:
    name: str
    # What a server's first line imports: a package may load its parts only when they are used.
    import_line: str
    # What a user installs for it.
    install: str = "toolhaft"
    # What is installed beside it.
    also: tuple[str, ...] = ()

    @property
    def script(self) -> Path:
        return HERE / "contenders" / f"{self.name}_server.py"

    @property
    def python(self) -> str:
        """The Python that runs it, in an environment of its own."""
        try:
            return python_of(self.install, *self.also)
        except PackageNotFoundError as missing:
            raise CannotMeasure(f"{self.install} is not installed: {missing}") from None

    def command(self, *arguments: str) -> list[str]:
        """What starts its server."""
        return [self.python, str(self.script), *arguments]

    @contextmanager
    def ready(self, environment: dict[str, str]) -> Iterator[tuple[list[str], dict[str, str]]]:
        """The command that load.c starts, and its environment."""
        yield self.command(), environment


class Bridged(Contender):
    """toolhaft in a process that runs already. What is started is the bridge to it."""

    @contextmanager
    def ready(self, environment: dict[str, str]) -> Iterator[tuple[list[str], dict[str, str]]]:
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            socket = f"{folder}/bench"
            command = [self.python, str(self.script), socket]
            with subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            ) as attached:
                assert attached.stdout is not None
                attached.stdout.readline()
                code = "import sys; from toolhaft_bridge.command import main; sys.exit(main())"
                bridge = [self.python, "-c", code, "attach", "--socket", socket]
                yield bridge, {**environment, "BENCH_BESIDE": str(attached.pid)}
                attached.kill()


CONTENDERS = (
    Contender("toolhaft", "from toolhaft import Server"),
    Bridged("bridge", "import toolhaft_bridge.command"),
    Contender("mcp", "from mcp.server import MCPServer", "mcp"),
    Contender("fastmcp", "from fastmcp import FastMCP", "fastmcp"),
    Contender("limit", "import msgspec", "msgspec"),
)


@dataclass(frozen=True)
class Sample:
    """One measurement: the figure in the workload's unit, and the figure shown beside it.

    Beside calls/s that is the server's CPU time per call in µs, beside import what Python takes
    without it.
    """

    figure: float
    beside: float | None = None


@dataclass(frozen=True)
class Measured:
    """What came of one attempt: samples, and why there are not more of them."""

    samples: dict[Workload, list[Sample]]
    failure: str | None = None


class Phase(msgspec.Struct):
    calls: int
    wall_seconds: float
    cpu_seconds: float
    bytes_per_answer: float


class Outcome(msgspec.Struct):
    """What load.c prints."""

    start_seconds: float | None
    ready_seconds: float | None
    start_cpu_seconds: float
    ready_cpu_seconds: float
    rss_when_ready_kib: int
    rss_peak_kib: int
    phases: dict[str, Phase]
    failure: str | None


def build_load(name: str) -> Path:
    """Compile a load generator, `load` or `http_load`, unless that was done before."""
    program, source = CACHE / name, HERE / f"{name}.c"
    changed = max(source.stat().st_mtime, LOAD_HEADER.stat().st_mtime)
    if program.exists() and program.stat().st_mtime > changed:
        return program
    compiler = os.environ.get("CC", "cc")
    if shutil.which(compiler) is None:
        raise CannotMeasure(
            f"no C compiler: {compiler!r} is not on PATH. Install one (Debian and Ubuntu: "
            "apt install gcc libc6-dev; Fedora: dnf install gcc) or name yours in CC."
        )
    CACHE.mkdir(exist_ok=True)
    command = [compiler, "-O2", "-std=c11", "-o", str(program), str(source)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    if compiled.returncode != 0:
        raise CannotMeasure(f"{source.name} does not compile:\n{compiled.stderr}")
    return program


def environment(fillers: int = 0, *, models: bool = False) -> dict[str, str]:
    """The environment of a contender: ours, less what changes how Python itself runs."""
    kept = {name: os.environ[name] for name in os.environ if name not in PYTHON_SETTINGS}
    with_models = {"BENCH_MODELS": "1"} if models else {}
    return {**kept, "BENCH_FILLERS": str(fillers), **with_models}


def run_stage(
    load: Path,
    contender: Contender,
    *,
    stage: Stage,
    wanted: tuple[Workload, ...],
    seconds: float,
) -> Measured:
    """Start the contender's server once and measure what is wanted of the stage."""
    if stage.models and contender.install == "toolhaft":
        contender = replace(contender, also=("pydantic",))
    variables = environment(stage.fillers, models=stage.models)
    with (
        tempfile.TemporaryFile("w+", errors="replace") as complaints,
        contender.ready(variables) as (command, surroundings),
    ):
        ended = subprocess.run(
            [str(load), *command],
            input=plan(stage, wanted, seconds=seconds, deadline=STAGE_DEADLINE),
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            env=surroundings,
            timeout=STAGE_DEADLINE + 10,
            check=False,
        )
        complaints.seek(0)
        last_words = complaints.read().strip().splitlines()[-1:]
    if not ended.stdout:
        return Measured({}, "; ".join([f"load ended with {ended.returncode}", *last_words]))
    outcome = msgspec.json.decode(ended.stdout, type=Outcome)
    failure = outcome.failure and "; ".join([outcome.failure, *last_words])
    return Measured(samples_of(outcome, stage, wanted=wanted), failure)


def samples_of(
    outcome: Outcome, stage: Stage, *, wanted: tuple[Workload, ...]
) -> dict[Workload, list[Sample]]:
    samples: dict[Workload, list[Sample]] = {}
    if outcome.start_seconds is not None and outcome.ready_seconds is not None:
        samples[START] = [Sample(outcome.start_seconds * 1e3)]
        samples[READY] = [Sample(outcome.ready_seconds * 1e3)]
        samples[START_CPU] = [Sample(outcome.start_cpu_seconds * 1e3)]
        samples[READY_CPU] = [Sample(outcome.ready_cpu_seconds * 1e3)]
        samples[MEMORY] = [Sample(outcome.rss_when_ready_kib * 1024 / 1e6)]
    for calls in stage.calls:
        names = (phase_name(calls, part) for part in range(PARTS))
        samples[calls] = [
            Sample(phase.calls / phase.wall_seconds, beside=phase.cpu_seconds / phase.calls * 1e6)
            for name in names
            if (phase := outcome.phases.get(name))
        ]
    return {row: samples[row] for row in samples if row in stage.workloads and row in wanted}


def seconds_of_python(python: str, code: str) -> float:
    """How long `python -c code` takes from start to end.

    Raises:
        CannotMeasure: The code failed.
    """
    start = time.perf_counter()
    try:
        subprocess.run(
            [python, "-c", code],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=IMPORT_DEADLINE,
            check=True,
        )
    except subprocess.CalledProcessError as failed:
        raise CannotMeasure("".join(failed.stderr.strip().splitlines()[-1:])) from None
    except subprocess.TimeoutExpired:
        raise CannotMeasure(f"{code!r} takes more than {IMPORT_DEADLINE:.0f} s") from None
    return time.perf_counter() - start


def run_import(contender: Contender) -> Measured:
    """Import the contender in processes of their own, by turns with Python that imports nothing."""

    def milliseconds(code: str) -> float:
        return seconds_of_python(contender.python, code) * 1e3

    samples = []
    for _ in range(IMPORTS):
        bare = milliseconds("pass")
        samples.append(Sample(milliseconds(contender.import_line), beside=bare))
    return Measured({IMPORT: samples})


def why_unavailable(contender: Contender) -> str | None:
    """Why the contender cannot take part, or None. Leaves its modules compiled."""
    try:
        seconds_of_python(contender.python, contender.import_line)
    except CannotMeasure as why:
        return str(why)
    return None
