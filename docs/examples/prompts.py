from typing import Annotated

from toolhaft import Server, assistant, user
from toolhaft.types.prompts import PromptMessage

server = Server("reviewer", version="1.0.0")


@server.prompt(title="Review a change")
def review(diff: Annotated[str, "a unified diff"], tone: str = "friendly") -> str:
    """Ask for a review. A string is one message of the user."""
    return f"Review this change in a {tone} tone:\n\n{diff}"


@server.prompt
def interview(topic: str, questions: int = 3) -> list[PromptMessage]:
    """A conversation that has begun already."""
    return [
        user(f"Ask me {questions} questions about {topic}, one at a time."),
        assistant("Gladly. Here is the first one."),
    ]
