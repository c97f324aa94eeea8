"""Files that end with a `run()`, and commands that load them."""

import subprocess

TOOL = """
@server.tool(read_only=True)
def add(a: int, b: int = 2) -> int:
    \"\"\"Add two numbers.\"\"\"
    return a + b
"""


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """How it ends by itself, and what it says."""
    status = process.wait()
    assert process.stdout is not None
    return status, process.stdout.read()
