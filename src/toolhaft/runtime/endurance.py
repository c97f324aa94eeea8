"""Runs a loop to its end, whatever the code of an author does to it."""

import asyncio
import logging
from typing import Any

from .telling import tell

log = logging.getLogger(__name__)


def run_to_the_end(loop: asyncio.AbstractEventLoop, main: "asyncio.Task[Any]") -> None:
    """Run the loop until `main` is done. A task that a tool left behind may raise SystemExit, which
    asyncio lets through; the service goes on."""
    while True:
        try:
            loop.run_until_complete(main)
            return
        except asyncio.CancelledError:
            tell(
                log.error, "a tool has cancelled every task, the server's own too; the server ends"
            )
            return
        except (SystemExit, KeyboardInterrupt) as error:
            if main.done():
                raise
            tell(log.error, "a task of a tool raised %s; the server goes on", type(error).__name__)
        except RuntimeError:
            if main.done() or loop.is_closed():
                raise
            tell(log.error, "a tool has stopped the event loop; the server goes on")
        except Exception as error:  # out of a signal's handler, which may run anywhere
            if main.done():
                raise
            tell(
                log.error, "a signal's handler raised %s; the server goes on", type(error).__name__
            )
