"""Messages: who says what, in a prompt and to a model."""

from typing import TypeAlias

from ...types.content import Content, Role, TextContent
from ...types.prompts import PromptMessage
from .content import Block, blocks_of

Said: TypeAlias = str | Block | Content


class Message:
    """A message of a prompt: who says it, and what.

    Raises:
        ValueError: nobody has this role.
        TypeError: the content is no content.
    """

    __slots__ = ("_wire",)

    def __init__(self, role: Role, content: Said) -> None:
        if role not in ("user", "assistant"):
            raise ValueError(f'a message is said by "user" or "assistant", not {role!r}')
        blocks = [TextContent(content)] if isinstance(content, str) else blocks_of(content)
        if blocks is None or len(blocks) != 1:
            raise TypeError(f"a message is text, an Image or the like, not {content!r}")
        self._wire = PromptMessage(role, blocks[0])

    def wire(self) -> PromptMessage:
        """The message as it is sent. It is shared between calls: do not change it."""
        return self._wire

    def __eq__(self, other: object) -> bool:
        return self._wire == other._wire if isinstance(other, Message) else NotImplemented

    def __repr__(self) -> str:
        return f"Message({self._wire.role!r}, {type(self._wire.content).__name__})"


def user(content: Said) -> Message:
    """A message that the user says."""
    return Message("user", content)


def assistant(content: Said) -> Message:
    """A message that the model has said."""
    return Message("assistant", content)
