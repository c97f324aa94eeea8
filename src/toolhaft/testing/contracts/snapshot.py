"""Everything that a server lists, in one form: the same text for the same server, made to be read.

JSON, since every tool reads it: sorted by name, one thing to a line, and a text of several lines as
a list of them, so that a review shows the line that has changed.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from ...protocol.stateless import SERVER_INFO
from ...schema.validation.schema_parts import is_list, is_object

Json: TypeAlias = dict[str, Any]
# Sends a request, by its method and its params, and gives the result.
Request: TypeAlias = Callable[[str, Json], Awaitable[Json]]

FORM = 1
# What the file calls it, the capability, the method, the member of the result, and its key.
LISTS = (
    ("tools", "tools", "tools/list", "tools", "name"),
    ("resources", "resources", "resources/list", "resources", "uri"),
    ("templates", "resources", "resources/templates/list", "resourceTemplates", "uriTemplate"),
    ("prompts", "prompts", "prompts/list", "prompts", "name"),
)
_TEXTS = ("description", "instructions")


class BadContract(Exception):
    """The file of a contract cannot be read; the message says what to do."""


async def listed(request: Request) -> Json:
    """What a server says of itself and what it lists, asked for in the newest revision."""
    found = await request("server/discover", {})
    info: Json = found.get("_meta", {}).get(SERVER_INFO, {})
    contract: Json = {
        "contract": FORM,
        # A version is different with every release, and nobody's promise.
        "server": {key: each for key, each in info.items() if key != "version"},
        "capabilities": found["capabilities"],
        "instructions": found.get("instructions", ""),
    }
    for name, capability, method, member, key in LISTS:
        entries: list[Json] = []
        if capability in contract["capabilities"]:
            entries = await _pages(request, method, member)
        contract[name] = {entry[key]: _without(entry, key) for entry in entries}
    for prompt in contract["prompts"].values():
        arguments: list[Json] = prompt.pop("arguments", [])
        prompt["arguments"] = {each["name"]: _without(each, "name") for each in arguments}
    return cast(Json, _canonical(contract))


async def _pages(request: Request, method: str, member: str) -> list[Json]:
    params: Json = {}
    entries: list[Json] = []
    seen: set[str] = set()
    while True:
        page = await request(method, params)
        entries += page[member]
        cursor = page.get("nextCursor")
        if cursor is None:
            return entries
        if cursor in seen:
            raise AssertionError(f"{method} gives the cursor {cursor!r} twice; its pages never end")
        seen.add(cursor)
        params = {"cursor": cursor}


def _without(entry: Json, key: str) -> Json:
    return {name: each for name, each in entry.items() if name != key}


def _canonical(value: Any, key: str = "") -> Any:
    if is_object(value):
        return {name: _canonical(value[name], name) for name in sorted(value)}
    if is_list(value):
        items = [_canonical(each) for each in value]
        # The order of these means nothing.
        is_set = key == "required" and all(isinstance(each, str) for each in items)
        return sorted(items) if is_set else items
    if key in _TEXTS and isinstance(value, str) and "\n" in value:
        return value.split("\n")
    return value


def written(contract: Json) -> str:
    """A contract as text."""
    return json.dumps(contract, indent=2, ensure_ascii=False) + "\n"


def read(text: str, where: str) -> Json:
    """A contract from its text.

    Raises:
        BadContract: it is none.
    """
    try:
        found: Any = json.loads(text)
    except ValueError as error:
        words = f"it is not JSON ({error}); was it merged? Settle that, or write it anew"
        raise BadContract(f"{where}: {words}") from None
    form = found.get("contract") if is_object(found) else None
    if not is_object(found) or form != FORM:
        raise BadContract(
            f'{where}: expected a contract, which has "contract": {FORM}, got {form!r}; write it '
            "anew with this version of toolhaft"
        )
    return found
