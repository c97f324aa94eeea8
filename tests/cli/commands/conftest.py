"""A home folder for each test, and the command in this process."""

from tests.cli.installing.conftest import house

__all__ = ["house"]
