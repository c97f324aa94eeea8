import logging
import time

from toolhaft import Server
from toolhaft.protocol.calls import Exchange, Next, Result

log = logging.getLogger("timing")


async def timed(exchange: Exchange, call: Next) -> Result:
    """Sees every request, `initialize` included, and may refuse it by raising."""
    begun = time.perf_counter()
    try:
        return await call(exchange)
    finally:
        log.info("%s took %.6f s", exchange.method, time.perf_counter() - begun)


server = Server("timed", version="1.0.0", middleware=[timed])


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
