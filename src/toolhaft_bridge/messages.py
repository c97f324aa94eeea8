"""Parses the few lines for which `ledger` needs JSON. Apart, since `json` is slow to import."""

import json
from typing import TypeAlias, cast

Message: TypeAlias = dict[str, object]


def messages_of(line: bytes) -> list[Message]:
    """Parse a line into its messages, several for a batch; none if it is not JSON."""
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return []
    several = cast(list[object], found) if isinstance(found, list) else [found]
    return [cast(Message, each) for each in several if isinstance(each, dict)]


def params_of(message: Message) -> Message:
    """Return the parameters of a message; empty if it has none."""
    return _object(message.get("params"))


def _object(value: object) -> Message:
    return cast(Message, value) if isinstance(value, dict) else {}


def written(id_: object) -> bytes | None:
    """Return an id as toolhaft writes it in JSON; None if it is not a valid id."""
    if isinstance(id_, int) and not isinstance(id_, bool):
        return b"%d" % id_
    if isinstance(id_, str):
        return quoted(id_)
    return None


def id_at(line: bytes, start: int) -> tuple[bytes, int] | None:
    """Return the id at `start` and its end; None if it is incomplete or no member follows it.

    The id is empty if the value there, such as null, is not a valid id.
    """
    try:  # Latin-1 has one character per byte, so that offsets stay the same
        _, end = json.JSONDecoder().raw_decode(line.decode("latin-1"), start)
        id_ = json.loads(line[start:end])
    except (ValueError, RecursionError):
        return None
    return (written(id_) or b"", end) if line[end : end + 1] == b"," else None


def quoted(text: str) -> bytes:
    """Encode a text as a JSON string."""
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")


def compact(message: Message) -> bytes:
    """Encode a message as one line. ASCII only, since lone surrogates have no UTF-8 encoding."""
    return json.dumps(message, separators=(",", ":")).encode()


def promises(greeting: bytes) -> tuple[object, list[str]]:
    """Return the revision in an `initialize` response, and the lists with `listChanged`."""
    result = _object(_first(greeting).get("result"))
    offered = _object(result.get("capabilities"))
    names = ("tools", "resources", "prompts")
    lists = [name for name in names if _object(offered.get(name)).get("listChanged")]
    return result.get("protocolVersion"), lists


def error_in(answer: bytes) -> str | None:
    """Return the error message in the answer of a process, if it has one."""
    error = _first(answer).get("error")
    return None if error is None else str(error)


def _first(line: bytes) -> Message:
    found = messages_of(line)
    return found[0] if found else {}
