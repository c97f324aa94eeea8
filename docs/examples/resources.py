from toolhaft import Cache, NotFound, Server

server = Server("library", version="1.0.0")

BOOKS = {1: "The Sea", 2: "The Sky"}


@server.resource("library://rules", mime_type="text/markdown", cache=3600)
def rules() -> str:
    """A text. Clients may keep it for an hour."""
    return "# Rules\n\nBe quiet."


@server.resource("library://books", cache=Cache(60, "public"))
def books() -> dict[int, str]:
    """What is neither str nor bytes is sent as JSON."""
    return BOOKS


@server.resource("library://books/{number}")
def book(number: int) -> str:
    """A template: the variable is a parameter, converted by its annotation."""
    if number not in BOOKS:
        raise NotFound(f"there is no book {number}")
    return BOOKS[number]


@server.resource("library://search{?word,limit}")
def search(word: str, limit: int = 10) -> str:
    """Variables of the query come in any order, and may be left out if there is a default."""
    return "\n".join([title for title in BOOKS.values() if word in title][:limit])


@server.resource("library://logo", mime_type="image/gif")
def logo() -> bytes:
    """Bytes are sent as Base64."""
    return b"GIF89a"
