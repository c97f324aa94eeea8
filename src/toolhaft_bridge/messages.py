"""Lines that have to be understood, of which there are few; json takes a while to load."""

import json
from typing import TypeAlias

Message: TypeAlias = dict[str, object]


def messages_of(line: bytes) -> list[Message]:
    """The messages of a line, which may be a batch; none if it is no JSON."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return [each for each in (found if isinstance(found, list) else [found]) if _is_object(each)]


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def params_of(message: Message) -> Message:
    """Its parameters, if there are any."""
    params = message.get("params")
    return {str(name): value for name, value in params.items()} if isinstance(params, dict) else {}


def written(id_: object) -> bytes | None:
    """An id as toolhaft writes it; None if this is none."""
    if isinstance(id_, int) and not isinstance(id_, bool):
        return b"%d" % id_
    if isinstance(id_, str):
        return quoted(id_)
    return None


def quoted(text: str) -> bytes:
    """A text in JSON."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")


def promises(greeting: bytes) -> tuple[object, list[str]]:
    """Of an answer to `initialize`: the revision, and the lists whose changes will be told."""
    [answer] = messages_of(greeting) or [{}]
    result = answer.get("result")
    if not isinstance(result, dict):
        return None, []
    offered = result.get("capabilities", {})
    lists = [name for name in ("tools", "resources", "prompts") if _changes(offered.get(name))]
    return result.get("protocolVersion"), lists


def _changes(capability: object) -> bool:
    return isinstance(capability, dict) and bool(capability.get("listChanged"))


def error_in(answer: bytes) -> str | None:
    """What a process says if it refuses."""
    [found] = messages_of(answer) or [{}]
    error = found.get("error")
    return None if error is None else str(error)
