"""`pytest --update-contract`: hooks for the plugin, which only has to pass them on."""

import os
from typing import Any, Protocol

from .contract import UPDATE


class Parser(Protocol):
    """What is needed of pytest's."""

    def addoption(self, *names: str, **options: Any) -> None: ...


class Config(Protocol):
    """What is needed of pytest's."""

    def getoption(self, name: str) -> Any: ...


def pytest_addoption(parser: Parser) -> None:
    """Offer the option."""
    parser.addoption(
        "--update-contract",
        action="store_true",
        default=False,
        help="write the contracts of servers as they are now (toolhaft)",
    )


def pytest_configure(config: Config) -> None:
    """Tell those who compare. Through the environment, so that worker processes hear of it too."""
    if config.getoption("--update-contract"):
        os.environ[UPDATE] = "1"


def pytest_unconfigure(config: Config) -> None:
    """A later run in the same process decides for itself."""
    if config.getoption("--update-contract"):
        os.environ.pop(UPDATE, None)
