"""What has changed between two contracts, and whether that breaks clients.

What goes in may get wider, what comes out may get narrower; everything else breaks somebody. So the
schemas of arguments are compared from the old one to the new one, and those of results the other
way.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from ...schema.validation.schema_parts import is_object, members_of
from .bound_comparison import NOTHING, Narrowing
from .schema_comparison import narrowings
from .snapshot import Json
from .unlisted_members import Unlisted

_HINTS = {
    "readOnlyHint": "read-only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open-world",
}
_ABOUT = ("title", "description", "examples", "deprecated", "$comment")
# Compares what two schemas say at a path.
_Look: TypeAlias = Callable[[str, Any, Any], Iterator[tuple[str, str]]]
_OTHER_WORDS = "the same schema in other words"
_LONGEST = 60


class Difference(NamedTuple):
    """One change."""

    where: str
    words: str
    breaks: bool

    def __str__(self) -> str:
        return f"{self.where}: {self.words}"


def differences(before: Json, after: Json) -> list[Difference]:
    """All changes, those that break clients first."""
    found = [
        *_entries(before, after, "tools", "tool", _tool),
        *_entries(before, after, "resources", "resource", _resource),
        *_entries(before, after, "templates", "template", _resource),
        *_entries(before, after, "prompts", "prompt", _prompt),
        *_capabilities(before.get("capabilities", {}), after.get("capabilities", {})),
        *_changed("server", before.get("server", {}), after.get("server", {})),
    ]
    if before.get("instructions") != after.get("instructions"):
        found.append(Difference("server", "other instructions", breaks=False))
    return sorted(dict.fromkeys(found), key=lambda each: not each.breaks)


def _entries(before: Json, after: Json, member: str, noun: str, compare: Any) -> list[Difference]:
    old, new = before.get(member, {}), after.get(member, {})
    found: list[Difference] = []
    for name in [*old, *(name for name in new if name not in old)]:
        where = f"{noun} {name}"
        if name not in new:
            found.append(Difference(where, "is gone", breaks=True))
        elif name not in old:
            found.append(Difference(where, "is new", breaks=False))
        elif old[name] != new[name]:
            found += compare(where, old[name], new[name])
    return found


def _tool(where: str, before: Json, after: Json) -> Iterator[Difference]:
    yield from _arguments(where, before.get("inputSchema", {}), after.get("inputSchema", {}))
    yield from _result(where, before.get("outputSchema"), after.get("outputSchema"))
    old, new = before.get("annotations", {}), after.get("annotations", {})
    for hint, word in _HINTS.items():
        if old.get(hint) != new.get(hint):
            words = f"was {_hint(old.get(hint), word)}, is {_hint(new.get(hint), word)}"
            yield Difference(where, words, breaks=False)
    yield from _changed(where, old, new, _HINTS)
    yield from _changed(where, before, after, ("inputSchema", "outputSchema", "annotations"))


def _hint(value: bool | None, word: str) -> str:
    return f"not said to be {word} or not" if value is None else word if value else f"not {word}"


def _resource(where: str, before: Json, after: Json) -> Iterator[Difference]:
    old, new = before.get("mimeType"), after.get("mimeType")
    if old != new:
        words = f"its type was {old or 'not told'}, is {new or 'not told'}"
        yield Difference(where, words, breaks=old is not None)
    yield from _changed(where, before, after, ("mimeType",))


def _prompt(where: str, before: Json, after: Json) -> Iterator[Difference]:
    old, new = before.get("arguments", {}), after.get("arguments", {})
    for name in [*old, *(name for name in new if name not in old)]:
        place = f"{where}, argument {name}"
        was, is_ = (bool(each.get(name, {}).get("required")) for each in (old, new))
        if name not in new:
            yield Difference(place, "is gone", breaks=True)
        elif name not in old:
            yield Difference(place, "is new, and required" if is_ else "is new", breaks=is_)
        elif was != is_:
            yield Difference(place, f"{'is' if is_ else 'no longer'} required", breaks=is_)
        if name in old and name in new:
            yield from _changed(place, old[name], new[name], ("required",))
    yield from _changed(where, before, after, ("arguments",))


def _capabilities(before: Json, after: Json, where: str = "capability") -> Iterator[Difference]:
    for name in [*before, *(name for name in after if name not in before)]:
        place = f"{where} {name}" if where == "capability" else f"{where}.{name}"
        old, new = before.get(name), after.get(name)
        if is_object(old) and is_object(new):
            yield from _capabilities(old, new, place)
        elif old not in (None, False) and new in (None, False):
            yield Difference(place, "is gone", breaks=True)
        elif old != new:
            yield Difference(place, "is new" if old in (None, False) else "differs", breaks=False)


def _changed(
    where: str, before: Json, after: Json, but: Iterable[str] = ()
) -> Iterator[Difference]:
    """What is only read by people, or by nobody in particular."""
    for name in sorted({*before, *after} - set(but)):
        if before.get(name) != after.get(name):
            yield Difference(where, f"other {name.strip('_')}", breaks=False)


# Schemas


def _arguments(where: str, before: Json, after: Json) -> Iterator[Difference]:
    if before == after:
        return
    tighter, wider = narrowings(before, after), narrowings(after, before)
    told = {each.path for each in tighter}
    gone = [name for name in Unlisted(before, after).names() if name not in told]
    tighter += [Narrowing(name, "properties") for name in gone]
    found = [
        *_both_ways(f"{where}, argument", where, tighter, wider),
        *_headers(where, before, after),
        *_annotations(f"{where}, argument", where, before, after),
    ]
    found += _openness(f"{where}, argument", f"{where}, arguments", before, after, found)
    yield from found or [Difference(where, _OTHER_WORDS, breaks=False)]


def _result(where: str, before: Json | None, after: Json | None) -> Iterator[Difference]:
    if before == after:
        return
    if before is None or after is None:
        words = "structured results are new" if before is None else "structured results are gone"
        yield Difference(where, words, breaks=after is None)
        return
    wider, tighter = narrowings(after, before), narrowings(before, after)
    lost = [each for each in tighter if each.keyword == "properties"]
    more = [each for each in wider if each.keyword == "properties"]
    broken = [each for each in wider if each.keyword != "properties"]
    told = {each.path for each in [*lost, *broken]}
    rest = [each for each in tighter if each.path not in told and each.keyword != "properties"]
    named = f"{where}, result"
    found = [
        *_said(named, named, lost, forward=True, breaks=True),
        *_said(named, named, broken, forward=False, breaks=True),
        *_said(named, named, more, forward=False, breaks=False),
        *_said(named, named, rest, forward=True, breaks=False),
        *_annotations(named, named, before, after),
    ]
    found += _openness(named, named, before, after, found)
    yield from found or [Difference(named, _OTHER_WORDS, breaks=False)]


def _both_ways(
    part: str, whole: str, tighter: list[Narrowing], wider: list[Narrowing]
) -> Iterator[Difference]:
    new = {each.path for each in wider if each.keyword == "properties"}
    for each in tighter:
        if each.keyword == "required" and each.path in new:
            yield Difference(_place(part, whole, each), "is new, and required", breaks=True)
        else:
            yield from _said(part, whole, [each], forward=True, breaks=True)
    told = {each.path for each in tighter}
    rest = [each for each in wider if each.path not in told]
    yield from _said(part, whole, rest, forward=False, breaks=False)


def _said(
    part: str, whole: str, found: Iterable[Narrowing], *, forward: bool, breaks: bool
) -> Iterator[Difference]:
    for each in found:
        if each.is_certain:
            words = _words(each, forward=forward)
        elif not breaks:
            words = f"{each.keyword} differs"
        else:
            words = f"cannot tell whether it still fits: {_doubt(each)}"
        yield Difference(_place(part, whole, each), words, breaks)


def _place(part: str, whole: str, each: Narrowing) -> str:
    return f"{part} {each.path}" if each.path else whole


def _doubt(each: Narrowing) -> str:
    return str(each.first) if each.keyword == "schema" else f"{each.keyword} has changed"


def _words(each: Narrowing, *, forward: bool) -> str:
    """A change in words. Forward: the first schema is the old one."""
    was, now = (each.first, each.second) if forward else (each.second, each.first)
    if each.keyword == "type":
        return f"type was {_types(was)}, is {_types(now)}"
    if each.keyword == "properties":
        return "is gone" if forward else "is new"
    if each.keyword == "required":
        return "is required" if forward else "is no longer required"
    if each.keyword == "values":
        return f"{_listed(each.first)} {'is gone' if forward else 'is new'}"
    if each.keyword == "enum":
        only = _listed(each.second)
        return f"must be {only}" if forward else f"need no longer be {only}"
    if each.keyword == "propertyNames":
        return "its name is refused" if forward else "its name is allowed"
    if was is NOTHING:
        return f"{each.keyword} is new: {_shown(now)}"
    if now is NOTHING:
        return f"{each.keyword} is gone: {_shown(was)}"
    return f"{each.keyword} was {_shown(was)}, is {_shown(now)}"


def _types(names: Any) -> str:
    return "anything" if len(names) == 6 else " or ".join(names) or "nothing"


def _listed(texts: Any) -> str:
    return " or ".join(_clipped(each) for each in texts) or "left out"


def _shown(value: Any) -> str:
    return _clipped(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _headers(where: str, before: Json, after: Json) -> Iterator[Difference]:
    """Arguments that clients must repeat in a header: who has the old list does not."""
    old, new = dict(_mirrored(before)), dict(_mirrored(after))
    for name in sorted(old.keys() & new.keys()):
        was, now = old[name], new[name]
        if was != now:
            words = f"x-mcp-header was {was or 'not there'}, is {now or 'not there'}"
            yield Difference(f"{where}, argument {name}", words, breaks=now is not None)


def _mirrored(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The members of objects in objects, where clients look for it, and what they say of it."""
    properties = schema.get("properties") if is_object(schema) else None
    for name, part in properties.items() if is_object(properties) else ():
        if is_object(part):
            yield f"{path}{name}", part.get("x-mcp-header")
            yield from _mirrored(part, f"{path}{name}.")


def _openness(
    part: str, whole: str, before: Json, after: Json, told: Iterable[Difference]
) -> list[Difference]:
    """Objects that say now whether they have more members than are listed, or no longer say it."""
    places = {each.where for each in told}
    found = [
        Difference(f"{part} {path}" if path else whole, words, breaks=False)
        for path, words in _closed("", before, after)
    ]
    return [each for each in found if each.where not in places]


def _closed(path: str, old: Any, new: Any) -> Iterator[tuple[str, str]]:
    if not is_object(old) or not is_object(new):
        return
    was, now = (each.get("additionalProperties") is False for each in (old, new))
    if was != now and not _is_told(*((new, old) if was else (old, new))):
        yield path, f"{'has no' if now else 'may have'} members that are not listed"
    yield from _inside(_closed, path, old, new)


def _is_told(opened: Json, closed: Json) -> bool:
    """Is it a narrowing as well, of the members under any name?"""
    ours, theirs = (each.get("patternProperties", {}).keys() for each in (opened, closed))
    return not members_of([opened]).is_closed or not ours <= theirs


def _annotations(part: str, whole: str, before: Json, after: Json) -> Iterator[Difference]:
    """What schemas say to people and models, where both have something to say it of."""
    for path, words in _texts("", before, after):
        yield Difference(f"{part} {path}" if path else whole, words, breaks=False)


def _texts(path: str, old: Any, new: Any) -> Iterator[tuple[str, str]]:
    if not is_object(old) or not is_object(new):
        return
    for keyword in _ABOUT:
        if old.get(keyword) != new.get(keyword):
            yield path, f"other {keyword}"
    if "default" in old or "default" in new:
        was, now = (_shown(each["default"]) if "default" in each else "none" for each in (old, new))
        if was != now:
            yield path, f"default was {was}, is {now}"
    yield from _inside(_texts, path, old, new)


def _inside(look: _Look, path: str, old: Json, new: Json) -> Iterator[tuple[str, str]]:
    """What is found in the parts that two schemas have in common."""
    for name in sorted(old.get("properties", {}).keys() & new.get("properties", {}).keys()):
        inner = f"{path}.{name}" if path else name
        yield from look(inner, old["properties"][name], new["properties"][name])
    yield from look(f"{path}[]", old.get("items"), new.get("items"))
    for name in sorted(old.get("$defs", {}).keys() & new.get("$defs", {}).keys()):
        yield from look(name, old["$defs"][name], new["$defs"][name])
