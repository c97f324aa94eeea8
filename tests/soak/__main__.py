"""Half an hour of load, churn and faults, on this machine only: `./dev soak [--minutes N]`.

Three servers, over stdio, over HTTP and attached to a program that lives on, are used by steady
clients, which count every answer, while others flood, leave, send garbage and are killed. To the
attached one they come through bridges and straight to its socket. A line is printed each minute,
and a verdict. The exit status is 1 if an answer was lost, memory, descriptors or threads grew, or a
server ended.
"""

import argparse
import asyncio
import random
import re
import signal
import sys
import tempfile
import time

from tests.soak import attached, clients
from tests.soak.clients import PATIENCE, Piped, Posting
from tests.soak.ledger import Ledger, Usage

SERVE = [sys.executable, "-m", "toolhaft", "run", "tests/soak/server.py"]
# What was freed is given back, so that what is measured is what the servers keep.
HONEST = ["env", "MALLOC_MMAP_THRESHOLD_=131072"]
_SETTLED = 8.0
# How a server ends, by what ends it.
STATUSES: dict[signal.Signals | None, int] = {
    None: 0,
    signal.SIGTERM: 0,
    signal.SIGINT: 0,
    signal.SIGKILL: -signal.SIGKILL,
}


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def _served() -> tuple["asyncio.subprocess.Process", int, "asyncio.Task[None]"]:
    """The server over HTTP, and its port."""
    process = await asyncio.create_subprocess_exec(
        *HONEST, *SERVE, "--http", "127.0.0.1:0", stderr=asyncio.subprocess.PIPE
    )
    stderr = process.stderr
    assert stderr is not None
    port = 0
    while not port:
        text = (await asyncio.wait_for(stderr.readline(), PATIENCE)).decode()
        if not text:
            raise SystemExit("the server over HTTP did not start")
        found = re.search(r"serving at http://[^:]+:(\d+)", text)
        port = int(found[1]) if found else 0

    async def drained() -> None:
        while await stderr.read(65536):
            pass

    return process, port, asyncio.ensure_future(drained())


async def soak(minutes: float, seed: str) -> list[str]:
    """Everything at once; what was wrong."""
    with tempfile.TemporaryDirectory(prefix="soak-", dir="/tmp") as folder:
        return await _soak(minutes, random.Random(seed), f"{folder}/socket")


async def _soak(minutes: float, chance: random.Random, socket: str) -> list[str]:
    ledger, over = Ledger(), asyncio.Event()
    piped = await Piped([*HONEST, *SERVE], ledger).start()
    site, port, drained = await _served()
    living = await attached.living(socket, *HONEST)
    bridge = attached.bridge_to(socket)
    bridged = [await Piped(bridge, ledger).start() for _ in range(2)]
    processes = {"stdio": piped.process, "http": site, "attached": living}
    tasks = [
        asyncio.ensure_future(each)
        for each in (
            clients.steady(piped, chance, over),
            clients.churn(SERVE, STATUSES, ledger, chance, over),
            *(clients.steady_over_http(Posting(port, ledger), chance, over) for _ in range(3)),
            clients.mischief_over_http(port, ledger, chance, over),
            clients.floods_over_http(port, ledger, chance, over),
            clients.killed_over_http(port, ledger, chance, over),
            *(clients.steady(each, chance, over) for each in bridged),
            clients.churn(bridge, attached.STATUSES, ledger, chance, over),
            attached.steady_on_the_socket(socket, ledger, chance, over),
            attached.mischief_on_the_socket(socket, ledger, chance, over),
            attached.floods_on_the_socket(socket, ledger, chance, over),
        )
    ]
    first = await _watched(minutes, tasks, processes, ledger)
    over.set()
    wrong = await _ended(tasks)
    await asyncio.sleep(_SETTLED)  # calls of clients that were killed are noticed and ended
    for name, process in processes.items():
        try:
            now = Usage.of(process.pid)
        except (OSError, KeyError):
            wrong.append(f"the server {name} has ended")
            continue
        _say(f"at rest:   {name} {now}")
        wrong += [f"{name}: {each}" for each in now.grown(first.get(name, now))]
    wrong += await _statuses(piped, bridged, [site, living])
    await drained
    return [*wrong, *ledger.wrong]


async def _watched(
    minutes: float,
    tasks: list["asyncio.Future[None]"],
    processes: dict[str, "asyncio.subprocess.Process"],
    ledger: Ledger,
) -> dict[str, Usage]:
    """A line each minute, until the time is over or something ends too early; the first figures."""
    start = time.monotonic()
    first: dict[str, Usage] = {}
    for minute in range(1, max(1, round(minutes)) + 1):
        until = start + min(minute, minutes) * 60
        await asyncio.wait(tasks, timeout=until - time.monotonic(), return_when="FIRST_COMPLETED")
        if any(task.done() for task in tasks) or any(
            process.returncode is not None for process in processes.values()
        ):
            break  # what ended too early is told by whoever asks next
        last = {name: Usage.of(process.pid) for name, process in processes.items()}
        first = first or last
        told = "; ".join(f"{name} {usage}" for name, usage in last.items())
        _say(f"minute {minute:2}: {told}; {ledger}; lost={len(ledger.wrong)}")
    return first


async def _ended(tasks: list["asyncio.Future[None]"]) -> list[str]:
    done = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 2 * PATIENCE)
    return [f"a client failed: {each!r}" for each in done if isinstance(each, BaseException)]


async def _statuses(
    piped: Piped, bridged: list[Piped], told: list["asyncio.subprocess.Process"]
) -> list[str]:
    """All end well: those on pipes when they are left, the others when they are told to."""
    statuses = [await each.end() for each in (*bridged, piped)]
    for process in told:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        statuses.append(await asyncio.wait_for(process.wait(), PATIENCE))
    names = (*("a bridge" for _ in bridged), "stdio", "http", "attached")
    return [
        f"{name} ended with {status}"
        for name, status in zip(names, statuses, strict=True)
        if status
    ]


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="./dev soak", description="Load, churn and faults.")
    parser.add_argument("--minutes", type=float, default=30, help="how long (default: 30)")
    parser.add_argument("--seed", default="soak", help="of what the clients choose")
    asked = parser.parse_args()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell ignores it for what it starts in the background, and so would all that we start.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    wrong = asyncio.run(soak(asked.minutes, asked.seed))
    for each in wrong[:50]:
        _say(f"WRONG: {each}")
    _say(f"verdict: {'failed, ' + str(len(wrong)) + ' wrong' if wrong else 'passed'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
