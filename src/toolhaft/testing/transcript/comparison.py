"""Compare what came with what a transcript expects; remember where they first differ."""

import json
import re
from typing import Any, TypeAlias

from ...client.json_shapes import as_list, as_object

Json: TypeAlias = Any
Members: TypeAlias = dict[str, Json]

_MATCHERS = re.compile(r"(?:<(?:contains|lacks):[^<>]+>)+")
_MATCHER = re.compile(r"<(contains|lacks):([^<>]+)>")
_LENGTH = re.compile(r"<length:(\d+)>")


def is_pattern(text: str) -> bool:
    """Would a text on the expected side stand for others than itself?"""
    special = {"<any>", "<stamp>", "<envelope>", "<unordered>"}
    return (
        text in special
        or text.startswith("$")
        or bool(_MATCHERS.fullmatch(text) or _LENGTH.fullmatch(text))
    )


class Comparison:
    """One performance's worth of comparisons."""

    def __init__(self, stamp: Members | None) -> None:
        self._stamp = stamp or {}
        self.captured: Members = {}
        # Where, and how, the last two things differed.
        self.complaint = ""

    def same(self, expected: Json, got: Json, where: str = "") -> bool:
        """Does this fit?"""
        if expected == "<any>":
            return True
        if expected == "<stamp>":
            expected = self._stamp
        if (wanted := as_object(expected)) is not None and (found := as_object(got)) is not None:
            return self._same_object(wanted, found, where)
        if (each := as_list(expected)) is not None and (others := as_list(got)) is not None:
            return self._same_array(each, others, where)
        if isinstance(expected, str) and self._fits(expected, got):
            return True
        # JSON knows a difference between 1 and true that Python would blur.
        if type(expected) is type(got) and expected == got:
            return True
        return self._differ(where, f"expected {expected!r}, got {got!r}")

    def _fits(self, expected: str, got: Json) -> bool:
        if expected.startswith("$") and isinstance(got, str):
            self.captured[expected[1:]] = got
            return True
        if match := _LENGTH.fullmatch(expected):
            elements = as_list(got)
            return elements is not None and len(elements) == int(match[1])
        if _MATCHERS.fullmatch(expected) and isinstance(got, str):
            return all(
                (word.lower() in got.lower()) == (kind == "contains")
                for kind, word in _MATCHER.findall(expected)
            )
        return False

    def _same_object(self, expected: Members, got: Members, where: str) -> bool:
        if "<stamp>" in expected:
            own = {key: each for key, each in expected.items() if key != "<stamp>"}
            expected = {**self._stamp, **own}
        others = expected.keys() & {"..."}
        required = {key for key in expected.keys() - others if not key.endswith("?")}
        named = {key.removesuffix("?"): each for key, each in expected.items() if key != "..."}
        if missing := sorted(required - got.keys()):
            return self._differ(where, f"no member {missing[0]!r}")
        if not others and (unknown := sorted(got.keys() - named.keys())):
            return self._differ(where, f"unexpected member {unknown[0]!r}")
        return all(
            self.same(each, got[key], f"{where}.{key}") for key, each in named.items() if key in got
        )

    def _same_array(self, expected: list[Json], got: list[Json], where: str) -> bool:
        if expected and expected[0] == "<unordered>":
            return self._same_elements(expected[1:], list(got), where)
        if len(expected) != len(got):
            return self._differ(where, f"{len(expected)} elements expected, got {len(got)}")
        return all(
            self.same(each, other, f"{where}[{index}]")
            for index, (each, other) in enumerate(zip(expected, got, strict=True))
        )

    def _same_elements(self, expected: list[Json], rest: list[Json], where: str) -> bool:
        if len(rest) != len(expected):
            return self._differ(where, f"{len(expected)} elements expected, got {rest!r}")
        for each in expected:
            found = next((other for other in rest if self.same(each, other, where)), None)
            if found is None:
                return False
            rest.remove(found)
        return True

    def _differ(self, where: str, complaint: str) -> bool:
        self.complaint = f"at {where.lstrip('.') or 'the top'}: {complaint}"
        return False


# What every message has to be


def decode(line: bytes) -> Json:
    """Read one line as strictly as a client may.

    Raises:
        ValueError: it is not JSON, or has a key twice.
    """
    return json.loads(line.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_constant)


def _object(pairs: list[tuple[str, Json]]) -> Members:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate keys")
    return members


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def fault_of(message: Json, *, may_ask: bool = False) -> str | None:
    """Say why a message of the server is not one, by rules that hold for every transcript."""
    if (parts := as_list(message)) is not None:
        faults = (fault_of(part, may_ask=may_ask) for part in parts)
        return next(filter(None, faults), None) if parts else "an empty batch"
    members = as_object(message)
    if members is None or members.get("jsonrpc") != "2.0":
        return "not a JSON-RPC 2.0 message"
    if len({"result", "error", "method"} & members.keys()) != 1:
        return "not exactly one of result, error and method"
    if "method" in members and "id" in members and not may_ask:
        return "a request, which this server has no reason to send"
    return "a member is null" if _has_null(members) else None


def _has_null(value: Json, parent: str = "") -> bool:
    if (members := as_object(value)) is not None:
        # What a tool returns or logs is its author's, null or not.
        authors = {"structuredContent", "data" if parent == "params" else ""}
        ours = [(key, each) for key, each in members.items() if key not in authors]
        return any(each is None or _has_null(each, key) for key, each in ours)
    return any(map(_has_null, as_list(value) or []))
