"""What we have put where, and what only the moment of putting it there could tell.

Kept in one file of ours. Without it, entries can still be taken out; with it, what is left is what
was there before, to the byte.
"""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from . import files
from .editors.text_edits import Unclear, Undo
from .lock import locked

# What is known of the surroundings of an entry outlives it, as long as another of ours is there.
_SHARED = ("made", "hole", "blank", "gap", "line")


def digest(data: bytes | None) -> str | None:
    """What tells one content of a file from another; None if there is no file."""
    import hashlib  # noqa: PLC0415

    return None if data is None else hashlib.sha256(data).hexdigest()


class Receipts:
    """All receipts, by file and by name of the entry."""

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
        """The entries that we have put into a file."""
        return list(self._files.get(str(path), {}).get("entries", {}))

    def undo(self, path: Path, name: str) -> Undo | None:
        """How to undo one; None if it is not ours, or we do not remember."""
        found: Undo | None = self._files.get(str(path), {}).get("entries", {}).get(name)
        return found

    def created(self, path: Path) -> bool:
        """Did we make this file?"""
        return bool(self._files.get(str(path), {}).get("created"))

    def folders(self, path: Path) -> list[str]:
        """The folders that were made for a file."""
        return list(self._files.get(str(path), {}).get("folders", []))

    def put(self, path: Path, name: str, undo: Undo, *, created: bool) -> None:
        """Remember an entry."""
        file = self._files.setdefault(str(path), {"created": created, "folders": [], "entries": {}})
        file["entries"][name] = undo

    def made_folders(self, path: Path, folders: list[str]) -> None:
        """Remember folders that were made for a file."""
        self._files[str(path)]["folders"] += folders

    def hand_on(self, folders: list[str]) -> None:
        """Folders that another file of ours is in go with that one."""
        for folder in reversed(folders):
            for path, file in self._files.items():
                if Path(folder) in Path(path).parents:
                    file["folders"].insert(0, folder)
                    break

    def drop(self, path: Path, name: str) -> None:
        """Forget an entry, and the file with the last one."""
        file = self._files.get(str(path), {"entries": {}})
        undo = file["entries"].pop(name, {})
        for other in list(file["entries"].values())[:1]:
            for key in _SHARED:
                if key in undo:
                    other.setdefault(key, undo[key])
        if not file["entries"]:
            self._files.pop(str(path), None)

    def forget(self, path: Path, name: str) -> None:
        """Forget an entry that others have taken out; for good at the next change."""
        self._forgotten.append((path, name, self.undo(path, name)))
        self.drop(path, name)

    def refresh(self) -> None:
        """See what other processes of ours have done meanwhile."""
        self._load()
        for path, name, undo in self._forgotten:
            if self.undo(path, name) == undo:  # else somebody has put it in anew
                self.drop(path, name)

    @contextmanager
    def changing(self) -> Generator[None]:
        """Change what is kept, also by other processes of ours, and write it.

        Raises:
            Unclear: that is not possible.
        """
        with locked(self._path.with_suffix(".lock")):
            self.refresh()
            self._forgotten.clear()
            yield
            text = json.dumps({"files": self._files}, indent=2) + "\n"
            files.write(files.read(self._path), text.encode(), private=True)
