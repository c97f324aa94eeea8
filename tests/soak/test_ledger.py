"""What the soak calls grown."""

import pytest
from tests.soak.ledger import MIB, Usage
from tests.soak.server import server

BEFORE = Usage(memory=30 * MIB, files=12, threads=26)
TOOLS = server.limits.threads


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (BEFORE, []),
        (Usage(BEFORE.memory, BEFORE.files, TOOLS + 3), []),
        (Usage(90 * MIB, BEFORE.files, BEFORE.threads), ["memory grew by 60.0 MiB"]),
        (Usage(BEFORE.memory, 60, BEFORE.threads), ["48 more files are open"]),
        (
            Usage(BEFORE.memory, BEFORE.files, TOOLS + 20),
            [f"{TOOLS + 20} threads, where tools have at most {TOOLS} and the rest 8"],
        ),
    ],
    ids=["nothing", "all threads of tools", "memory", "files", "threads"],
)
def test_what_grew_is_told(now: Usage, told: list[str]) -> None:
    assert now.grown(BEFORE) == told
