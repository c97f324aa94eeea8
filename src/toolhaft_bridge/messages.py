"""Lines that have to be understood, of which there are few; json takes a while to load."""

import json
from typing import TypeAlias, cast

Message: TypeAlias = dict[str, object]


def messages_of(line: bytes) -> list[Message]:
    """The messages of a line, which may be a batch; none if it is no JSON."""
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return []
    several = cast(list[object], found) if isinstance(found, list) else [found]
    return [cast(Message, each) for each in several if isinstance(each, dict)]


def params_of(message: Message) -> Message:
    """Its parameters, if there are any."""
    return _object(message.get("params"))


def _object(value: object) -> Message:
    return cast(Message, value) if isinstance(value, dict) else {}


def written(id_: object) -> bytes | None:
    """An id as toolhaft writes it; None if this is none."""
    if isinstance(id_, int) and not isinstance(id_, bool):
        return b"%d" % id_
    if isinstance(id_, str):
        return quoted(id_)
    return None


def id_at(line: bytes, start: int) -> tuple[bytes, int] | None:
    """The id that stands there, before other members, and where it ends; None if not all of it is
    there. What cannot be an id, such as null, is that of nobody: it is empty."""
    try:  # in Latin-1 each byte is a letter, so that the places are the same
        _, end = json.JSONDecoder().raw_decode(line.decode("latin-1"), start)
        id_ = json.loads(line[start:end])
    except (ValueError, RecursionError):
        return None
    return (written(id_) or b"", end) if line[end : end + 1] == b"," else None


def quoted(text: str) -> bytes:
    """A text in JSON."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")


def compact(message: Message) -> bytes:
    """A message by itself, on a line. What is ASCII has no letters that could not be written."""
    return json.dumps(message, separators=(",", ":")).encode()


def promises(greeting: bytes) -> tuple[object, list[str]]:
    """Of an answer to `initialize`: the revision, and the lists whose changes will be told."""
    result = _object(_first(greeting).get("result"))
    offered = _object(result.get("capabilities"))
    names = ("tools", "resources", "prompts")
    lists = [name for name in names if _object(offered.get(name)).get("listChanged")]
    return result.get("protocolVersion"), lists


def error_in(answer: bytes) -> str | None:
    """What a process says if it refuses."""
    error = _first(answer).get("error")
    return None if error is None else str(error)


def _first(line: bytes) -> Message:
    found = messages_of(line)
    return found[0] if found else {}
