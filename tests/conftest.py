"""What holds for every test, wherever the run was started."""

import signal

import pytest
from tests.processes.fixtures import serve, served

__all__ = ["serve", "served"]

# The files that take longest. Whoever is given one of them last keeps the others waiting.
LONGEST = [
    # Looks at every living object several times, so it wants a young process.
    "tests/calls/test_driver.py",
    "tests/transports/stdio/test_process.py",
    "tests/transports/stdio/test_watchdog.py",
    "tests/clients/test_inspector.py",
    "tests/toolhaft_bridge/test_bridge.py",
    "tests/cli/commands/test_check.py",
    "tests/robustness/test_pauses.py",
    "tests/process/test_thread_pool_states.py",
    "tests/conformance/test_conformance.py",
    "tests/robustness/test_signals.py",
    "tests/robustness/test_wild_tools.py",
    "tests/cli/commands/test_call.py",
    "tests/cli/shared/test_conversation.py",
    "tests/test_pytest_toolhaft.py",
    "tests/test_comparison.py",
    "tests/transports/http/servers/test_real_clients.py",
    "tests/transports/http/servers/test_shutdown.py",
    "tests/transports/stdio/test_hostile_clients.py",
    "tests/robustness/test_hostile_at_doors.py",
]


def pytest_configure() -> None:
    """Let an interrupt reach the processes that tests start.

    A shell lets what it runs in the background ignore interrupts, and children inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest. All else stays in its random order."""
    places = {file: place for place, file in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))
