"""Read-only view of the files of clients, and which entries toolhaft has written."""

import json
import re
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

from . import files
from .clients import Client
from .editors.text_edits import Format, Unable, Unclear, entries_of, words_of
from .files import Snapshot
from .machine import STATE, Machine, Places, locate
from .receipts import Receipts

_EDITORS = {"jsonc": "jsonc", "toml": "toml_tables", "yaml": "yaml_blocks"}
_OURS = re.compile(r"(?:^|[\\/])toolhaft(?:\.exe)?$")
_IN_TEXT = re.compile(r"[^\s\"']+")


class Seen(NamedTuple):
    """A configuration file: snapshot, text, parsed value, path of keys, and its entries."""

    snapshot: Snapshot
    text: str
    value: dict[str, Any]
    parents: Sequence[str]
    entries: dict[str, Any]


class Reader:
    """Reader of the files of clients on one machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._own = Path(locate(STATE, machine))
        self.receipts = Receipts(self._own)

    def where(self, client: Client, scope: str) -> Path:
        """Return the path of a client's file.

        Raises:
            Unclear: the client has no file for this scope.
        """
        places: Places = client.user
        if scope == "project":
            if not client.project:
                raise Unable(f"{client.title} has no configuration for a project")
            places = {self._machine.platform: client.project}
        return Path(locate(places, self._machine))

    def see(self, client: Client, scope: str) -> Seen:
        """Read and parse the file of a client.

        Raises:
            Unclear: it has a syntax error, or cannot be read.
        """
        path = self.where(client, scope)
        try:
            root = Path(self._machine.project) if scope == "project" else None
            return seen_in(client, files.read(path, root))
        except Unclear as error:
            raise Unclear(f"{path}: {error}") from None

    def ours(self, seen: Seen) -> list[str]:
        """Return the names of the entries that start toolhaft or have a receipt."""
        self._forget(seen)
        known = self.receipts.names(seen.snapshot.path)
        return [name for name, entry in seen.entries.items() if name in known or _is_ours(entry)]

    def _forget(self, seen: Seen) -> None:
        """Drop the receipts of entries that were removed or replaced by other programs."""
        path = seen.snapshot.path
        for name in self.receipts.names(path):
            undo = self.receipts.undo(path, name) or {}
            entry = seen.entries.get(name)
            to_come = entry is None and undo.get("late", False)
            if not to_come and not _says(entry, undo.get("words", [])):
                self.receipts.forget(path, name)


def format_of(client: Client) -> Format:
    """Import the editor module for the format of a client's file."""
    return cast(Format, import_module(f"{__package__}.editors.{_EDITORS[client.format]}"))


def seen_in(client: Client, snapshot: Snapshot) -> Seen:
    """Parse the file of a client.

    Raises:
        Unclear: it has a syntax error.
    """
    # Most files do not exist, and importing an editor takes longer than reading a file.
    value = format_of(client).value(snapshot.text) if snapshot.data else {}
    parents = _parents(client, value)
    return Seen(snapshot, snapshot.text, value, parents, entries_of(value, parents))


def _says(entry: Any, words: Sequence[str]) -> bool:
    """Test whether an entry contains all words, in any place: clients reformat their files."""
    if isinstance(entry, str):  # the lines of an entry in YAML
        return all(word in entry or json.dumps(word)[1:-1] in entry for word in words)
    return entry is not None and set(words) <= set(words_of(entry))


def _parents(client: Client, value: dict[str, Any]) -> Sequence[str]:
    *special, usual = client.parents
    for parents in special:
        *above, last = parents
        found = entries_of(value, above).get(last)
        # A server may be named like the key: then the object is its entry.
        if isinstance(found, dict) and not {"type", "command"} & found.keys():
            return parents
    return usual


def _is_ours(entry: Any) -> bool:
    words = words_of(entry)
    if isinstance(entry, str):  # the lines of an entry in YAML
        found: list[str] = _IN_TEXT.findall(entry)
        words = [word for word in found if word != "-" and not word.endswith(":")]
    return any(_OURS.search(word) and then in ("run", "attach") for word, then in pairwise(words))
