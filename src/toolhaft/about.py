"""Which release this is, and which revisions of the protocol it speaks."""

from importlib.metadata import version
from typing import Final

from .protocol.revisions import SUPPORTED

__version__: Final = version("toolhaft")
REVISIONS: Final[tuple[str, ...]] = tuple(SUPPORTED)
"""The revisions of the protocol that are spoken, the newest first."""
