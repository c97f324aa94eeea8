from toolhaft import Server

server = Server("demo", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    server.run(http="127.0.0.1:8000")
