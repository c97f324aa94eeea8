from typing import Annotated

from toolhaft import Image, Message, PromptResult, Server, assistant, user

server = Server("reviewer", version="1.0.0")

GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"


@server.prompt(title="Review a change")
def review(diff: Annotated[str, "a unified diff"], tone: str = "friendly") -> str:
    """Ask for a review. A string is one message of the user."""
    return f"Review this change in a {tone} tone:\n\n{diff}"


@server.prompt
def interview(topic: str, questions: int = 3) -> list[Message]:
    """A conversation that has begun already.

    Args:
        topic: what to be asked about
        questions: how many
    """
    return [
        user(f"Ask me {questions} questions about {topic}, one at a time."),
        assistant("Gladly. Here is the first one."),
    ]


@server.prompt
def caption(language: str = "English") -> PromptResult:
    """Ask for a caption. The description of the result may differ from that of the prompt."""
    return PromptResult(
        f"A caption in {language}",
        [Image(GIF), f"Write a caption for this picture in {language}."],
    )
