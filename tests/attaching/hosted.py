"""Servers that are attached to this process."""

import threading
from pathlib import Path

import pytest

from toolhaft import Server
from toolhaft.testing import SyncClient


@pytest.fixture
def server() -> Server:
    server = Server("my notes", version="1.0.0")

    @server.tool
    def who() -> str:
        return threading.current_thread().name

    return server


def is_served(client: SyncClient) -> bool:
    """Does a tool run, and where it should?"""
    return str(client.call("who")).startswith("toolhaft-tool-")


def entries(places: Path) -> list[str]:
    return sorted(each.name for each in (places / "toolhaft").iterdir())
