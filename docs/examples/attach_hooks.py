import time
from contextlib import suppress

from toolhaft import Server

server = Server("hooked", version="1.0.0")
guests = 0


def come() -> None:
    """A client is about to be served."""
    global guests
    guests += 1
    print(f"{guests} here", flush=True)


def go() -> None:
    """It has gone."""
    global guests
    guests -= 1
    print(f"{guests} here", flush=True)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt), server.attach(init=come, stop=go):
        while True:
            time.sleep(1)
