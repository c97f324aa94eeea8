from toolhaft import NotFound, PromptError, ResourceError, Server

server = Server("archive", version="1.0.0")

PAGES = {"1": "In the beginning", "2": "(being restored)"}


@server.resource("archive://pages/{number}")
def page(number: str) -> str:
    """A page of the archive."""
    if number not in PAGES:
        raise NotFound(f"there is no page {number}")
    if number == "2":
        raise ResourceError(2001, "page 2 is being restored", data={"days": 3})
    return PAGES[number]


@server.prompt
def summary(number: str) -> str:
    """Ask for a summary of a page."""
    if number not in PAGES:
        raise PromptError(f"there is no page {number} to write about")
    return f"Summarise this: {PAGES[number]}"
