import queue
from collections.abc import Callable
from contextlib import suppress

from toolhaft import Server

server = Server("painter", version="1.0.0")
work: queue.Queue[Callable[[], None]] = queue.Queue()
picture: list[str] = []


@server.tool(run_on=work.put)
def paint(colour: str) -> int:
    """Paint a line."""
    picture.append(colour)
    return len(picture)


def main() -> None:
    with suppress(KeyboardInterrupt), server.attach():
        while True:
            work.get()()


if __name__ == "__main__":
    main()
