"""Exit statuses and output functions of `install`, `uninstall` and `clients`."""

from ..shared.console import failed
from ..shared.console import show as say

__all__ = ["CANNOT_CHANGE", "NO_ANSWER", "WRONG_COMMAND", "failed", "say"]

WRONG_COMMAND = 2
CANNOT_CHANGE = 3
NO_ANSWER = 4
