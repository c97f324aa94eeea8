"""`toolhaft list`, `call`, `read` and `prompt`, each in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.servers import COMMANDS

# Help


@pytest.mark.parametrize("command", COMMANDS)
def test_help_loads_nothing_that_is_slow(tmp_path: Path, command: str) -> None:
    program = (
        "import sys, atexit\n"
        "from toolhaft.cli import main\n"
        "slow = {'asyncio', 'importlib.metadata', 'toolhaft.serve.over_stdio', 'ssl'}\n"
        "atexit.register(lambda: print(slow & set(sys.modules), file=sys.stderr))\n"
        f"main([{command!r}, '--help'])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, timeout=30, check=True
    )

    assert done.stdout.startswith(b"usage: toolhaft ")
    assert done.stderr == b"set()\n"
