"""An ASGI application in the same process, which breaks."""

from typing import Any

import pytest

from toolhaft.testing import (
    Client,
    ServerGone,
)


async def test_an_application_that_breaks_is_told() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError("no database")

    with pytest.raises(ServerGone, match="has not answered: LookupError"):
        async with Client.asgi(app):
            pass


async def test_an_application_that_breaks_off_is_told() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            raise LookupError("no database")

    with pytest.raises(ServerGone, match="broke off: LookupError"):
        async with Client.asgi(app):
            pass
