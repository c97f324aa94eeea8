"""Regular expressions that are compiled when they are first used.

All of them together take as long to compile as a third of our modules to import, and most servers
use few of them.
"""

import re
from typing import Any, AnyStr, cast


class _Uncompiled:
    """Stands in for a pattern, and becomes as good as one when it is asked for something."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)  # so that it is not asked for again
        return found


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like `re.compile`, in its own time. A mistake shows with the first use."""
    return cast("re.Pattern[AnyStr]", _Uncompiled(text, flags))
