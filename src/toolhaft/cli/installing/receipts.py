"""Receipts: the entries that toolhaft has written, with the data for an exact removal.

Stored in one file of toolhaft. Without it, entries can still be removed; with it, a removal
restores the earlier file to the byte.
"""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from . import files
from .editors.text_edits import Unclear, Undo
from .lock import locked

# Keys about the surroundings of an entry: passed to another entry in the file when it is removed.
_SHARED = ("made", "hole", "blank", "gap", "line")


def digest(data: bytes | None) -> str | None:
    """Return the SHA-256 of a file's content; None if there is no file."""
    import hashlib  # noqa: PLC0415

    return None if data is None else hashlib.sha256(data).hexdigest()


class Receipts:
    """All receipts, by file and name of the entry."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[str, dict[str, Any]] = {}
        self._forgotten: list[tuple[Path, str, Undo | None]] = []
        self._load()

    def _load(self) -> None:
        try:
            text = files.read(self._path).text
            known: Any = json.loads(text) if text else {"files": {}}
            self._files = cast(dict[str, dict[str, Any]], known["files"])
            for file in self._files.values():
                for name in file["entries"]:
                    dict(file["entries"][name])
        except (Unclear, ValueError, KeyError, TypeError, AttributeError):
            raise Unclear(
                f"{self._path}, where toolhaft keeps what it has installed, cannot be read; "
                "remove it, and entries can still be uninstalled, if not to the byte"
            ) from None

    def names(self, path: Path) -> list[str]:
        """Return the names of the entries in a file that have a receipt."""
        return list(self._files.get(str(path), {}).get("entries", {}))

    def undo(self, path: Path, name: str) -> Undo | None:
        """Return the undo data of an entry; None if it has no receipt."""
        found: Undo | None = self._files.get(str(path), {}).get("entries", {}).get(name)
        return found

    def created(self, path: Path) -> bool:
        """Test whether toolhaft created a file."""
        return bool(self._files.get(str(path), {}).get("created"))

    def folders(self, path: Path) -> list[str]:
        """Return the folders that were created for a file."""
        return list(self._files.get(str(path), {}).get("folders", []))

    def put(self, path: Path, name: str, undo: Undo, *, created: bool) -> None:
        """Add the receipt of an entry."""
        file = self._files.setdefault(str(path), {"created": created, "folders": [], "entries": {}})
        file["entries"][name] = undo

    def made_folders(self, path: Path, folders: list[str]) -> None:
        """Record folders that were created for a file."""
        self._files[str(path)]["folders"] += folders

    def hand_on(self, folders: list[str]) -> None:
        """Assign created folders that could not be removed to another file in them."""
        for folder in reversed(folders):
            for path, file in self._files.items():
                if Path(folder) in Path(path).parents:
                    file["folders"].insert(0, folder)
                    break

    def drop(self, path: Path, name: str) -> None:
        """Delete a receipt, and the record of the file with the last one."""
        file = self._files.get(str(path), {"entries": {}})
        undo = file["entries"].pop(name, {})
        for other in list(file["entries"].values())[:1]:
            for key in _SHARED:
                if key in undo:
                    other.setdefault(key, undo[key])
        if not file["entries"]:
            self._files.pop(str(path), None)

    def forget(self, path: Path, name: str) -> None:
        """Delete the receipt of an entry removed by another program; saved with the next change."""
        self._forgotten.append((path, name, self.undo(path, name)))
        self.drop(path, name)

    def refresh(self) -> None:
        """Read the file again, which other processes may have changed."""
        self._load()
        for path, name, undo in self._forgotten:
            if self.undo(path, name) == undo:  # else it was installed again meanwhile
                self.drop(path, name)

    @contextmanager
    def changing(self) -> Generator[None]:
        """Lock and read the file, then save the changes of the block.

        Raises:
            Unclear: the file cannot be locked, read or written.
        """
        with locked(self._path.with_suffix(".lock")):
            self.refresh()
            self._forgotten.clear()
            yield
            text = json.dumps({"files": self._files}, indent=2) + "\n"
            files.write(files.read(self._path), text.encode(), private=True)
