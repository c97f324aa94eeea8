"""Record what passes between a client and a server as a transcript, to be replayed as a test.

What is different each time is written so that it may be: states and ids that a server makes up are
captured and given back, the mark of a masked error is left out.
"""

import json
import os
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

from toolhaft_bridge.outputs import replace

from ...client.json_shapes import as_list, as_object
from ...client.request_meta import CAPABILITIES, VERSION
from ...client.wire import Passed, Wire
from ...protocol.stateless import SERVER_INFO
from ..client import Client
from .comparison import is_pattern

Json: TypeAlias = Any
Members: TypeAlias = dict[str, Json]

_MARK = re.compile(r" \(error [0-9a-f]{8}\)")
_MADE_UP = {"requestState": "state", "elicitationId": "elicitation"}


@asynccontextmanager
async def record(
    client: Client, path: str | os.PathLike[str], rule: str = "A session, as it was recorded."
) -> AsyncGenerator[Client]:
    """Open a client, and write down what passed when the block is over without an error.

    Args:
        rule: what the transcript shows; its first line.
    """
    async with client:
        yield client
        # What happens at the end of a session is not part of it.
        text = transcript(client.wire, rule)
    _write(Path(path), text)


def _write(path: Path, text: str) -> None:
    replace(str(path), text.encode())


def transcript(wire: Wire, rule: str) -> str:
    """What has passed, as a transcript."""
    return "\n".join(_Writer(wire).lines(rule)) + "\n"


class _Writer:
    def __init__(self, wire: Wire) -> None:
        self._passed = list(wire)
        self._envelope: Members = {}
        self._stamp: Members = {}
        # Names for what a server has made up.
        self._names: dict[str, str] = {}

    def lines(self, rule: str) -> Iterator[str]:
        yield f"# {rule}"
        yield from self._settings()
        waiting: set[str] = set()
        # Of several that are under way, any may be answered first, also the last one of them.
        several = False
        for passed in self._passed:
            id_ = json.dumps((as_object(passed.message) or {}).get("id"))
            is_request = "method" in (as_object(passed.message) or {})
            if passed.direction == ">":
                if is_request and id_ != "null":
                    waiting.add(id_)
                yield self._sent(passed.message)
            else:
                several = len(waiting) > 1 or (several and bool(waiting))
                yield f"{'<*' if several else '<'} {_json(self._received(passed.message))}"
                if not is_request:
                    waiting.discard(id_)

    def _settings(self) -> Iterator[str]:
        for meta in map(_meta_of, self._passed):
            if VERSION in meta and not self._envelope:
                self._envelope = {key: meta[key] for key in meta if key != "progressToken"}
            if SERVER_INFO in meta and not self._stamp:
                self._stamp = {SERVER_INFO: meta[SERVER_INFO]}
        can = self._envelope.get(CAPABILITIES) or self._declared()
        for name, value in (("can", can), ("envelope", self._envelope), ("stamp", self._stamp)):
            if value:
                yield f"@ {name} {_json(value)}"

    def _declared(self) -> Json:
        for passed in self._passed:
            message = as_object(passed.message) or {}
            if message.get("method") == "initialize":
                return (as_object(message.get("params")) or {}).get("capabilities")
        return None

    # What is sent

    def _sent(self, message: Json) -> str:
        if isinstance(message, bytes):
            return f">> {_escaped(message)}"
        named = self._with_names(message)
        if _has_pattern(message):  # which would be read as something else
            return f">> {_escaped(_json(message).encode())}"
        return f"> {_json(self._short(named, self._envelope, '<envelope>'))}"

    def _with_names(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._names.get(value, value)
        if (members := as_object(value)) is not None:
            return {key: self._with_names(each) for key, each in members.items()}
        if (elements := as_list(value)) is not None:
            return [self._with_names(each) for each in elements]
        return value

    # What is received

    def _received(self, message: Json) -> Json:
        members = as_object(message)
        if members is not None and "method" in members and isinstance(members.get("id"), str):
            members = {**members, "id": self._name("ask", members["id"])}
        return self._short(self._expected(members or message), self._stamp, "<stamp>")

    def _expected(self, value: Json, key: str = "") -> Json:
        if isinstance(value, str):
            return self._expected_text(value, key)
        if (elements := as_list(value)) is not None:
            return [self._expected(each) for each in elements]
        members = as_object(value)
        if members is None:
            return value
        if any(name.endswith("?") or name == "..." for name in members):
            return "<any>"
        return {name: self._expected(each, name) for name, each in members.items()}

    def _expected_text(self, text: str, key: str) -> str:
        if key in _MADE_UP:
            return self._name(_MADE_UP[key], text)
        if text in self._names.values():
            return text
        if found := _MARK.search(text):
            start = text[: found.start()]
            return f"<contains:{start}>" if start and not set("<>") & set(start) else "<any>"
        return "<any>" if is_pattern(text) else text

    def _name(self, kind: str, value: str) -> str:
        count = sum(name.startswith(f"${kind}") for name in self._names.values())
        return self._names.setdefault(value, f"${kind}{count + 1}")

    # Both

    def _short(self, message: Json, meta: Members, name: str) -> Json:
        """A message in which what every message says is said by a name."""
        members = as_object(message)
        if members is None or not meta:
            return message
        for holder in ("params", "result"):
            inner = as_object(members.get(holder)) or {}
            found = as_object(inner.get("_meta"))
            if found is not None and all(found.get(key) == meta[key] for key in meta):
                rest = {key: each for key, each in found.items() if key not in meta}
                short: Json = {name: True, **rest} if rest else name
                return {**members, holder: {**inner, "_meta": short}}
        return members


def _meta_of(passed: Passed) -> Members:
    message = as_object(passed.message) or {}
    inner = as_object(message.get("params")) or as_object(message.get("result")) or {}
    return as_object(inner.get("_meta")) or {}


def _has_pattern(value: Json) -> bool:
    if isinstance(value, str):
        return is_pattern(value)
    if (members := as_object(value)) is not None:
        return any(map(_has_pattern, members.values())) or "<envelope>" in members
    return any(map(_has_pattern, as_list(value) or []))


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _escaped(data: bytes) -> str:
    text = data.replace(b"\\", b"\\\\").replace(b"\r", b"\\r").replace(b"\n", b"\\x0a")
    return text.decode("utf-8", "backslashreplace")
