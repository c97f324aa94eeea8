"""What was sent and what came back: a soak passes if nothing is missing and nothing grows."""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.server import server

MIB = 1024 * 1024
# What an allocator may take for itself between the first minutes and the last ones.
MOST_GROWTH = 48 * MIB
MOST_FILES = 40
# Those of tools are started as they are needed, and stay. Beside them are those of the program, of
# the log, of the watch, of what is attached and of asyncio.
TOOL_THREADS = server.limits.threads
OTHER_THREADS = 8


@dataclass
class Ledger:
    """What the clients saw. They share it: they all run on one loop."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def note(self, what: str, times: int = 1) -> None:
        """Something happened as it should."""
        self.counts[what] += times

    def lost(self, what: str) -> None:
        """An answer did not come, or was another one."""
        self.wrong.append(what)

    def __str__(self) -> str:
        return " ".join(f"{name}={count:,}" for name, count in sorted(self.counts.items()))


@dataclass(frozen=True)
class Usage:
    """What a process takes."""

    memory: int
    files: int
    threads: int

    @classmethod
    def of(cls, pid: int) -> "Usage":
        """By what the kernel says."""
        fields = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        )
        return cls(
            int(fields["VmRSS"].split()[0]) * 1024,
            len(os.listdir(f"/proc/{pid}/fd")),
            int(fields["Threads"]),
        )

    def __str__(self) -> str:
        return f"{self.memory / MIB:.1f} MiB {self.files} files {self.threads} threads"

    def grown(self, since: "Usage") -> list[str]:
        """What is more than it may be."""
        found = []
        if self.memory - since.memory > MOST_GROWTH:
            found.append(f"memory grew by {(self.memory - since.memory) / MIB:.1f} MiB")
        if self.files - since.files > MOST_FILES:
            found.append(f"{self.files - since.files} more files are open")
        if self.threads > TOOL_THREADS + OTHER_THREADS:
            most = f"tools have at most {TOOL_THREADS} and the rest {OTHER_THREADS}"
            found.append(f"{self.threads} threads, where {most}")
        return found
