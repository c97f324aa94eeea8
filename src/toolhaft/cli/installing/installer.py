"""Changes to the configuration of one client: planned and checked first, then applied."""

import difflib
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from . import files, programs
from .clients import Client, Program, Wanted, command_for, entry_for, removal_for
from .configured_entries import Reader, Seen, format_of, seen_in
from .editors.text_edits import Entry, Unable, Unclear, Undo, entries_of, without, words_of
from .files import Snapshot
from .receipts import digest


class Step(NamedTuple):
    """One change of one file, by new content or by commands of the client.

    Args:
        after: the new content; None to remove the file (unless there are commands).
        commands: command lines of the client's program that make the change.
        undo: how to revert an installation; None for an uninstallation.
        changes: False if the entry is there already, so that nothing is to be done.
        private: create a new file with mode 0600.
    """

    client: Client
    name: str
    snapshot: Snapshot
    summary: str
    after: bytes | None = None
    commands: Sequence[Sequence[str]] = ()
    undo: Undo | None = None
    changes: bool = True
    private: bool = False
    entry: Entry | None = None

    @property
    def path(self) -> Path:
        """The path of the file, with links resolved."""
        return self.snapshot.path

    def shown(self) -> str:
        """Format the step for `--dry-run`: shell commands, or a unified diff."""
        if not self.changes:
            return f"{self.client.id}: {self.summary}\n"
        if self.commands:
            return "".join(f"{self.client.id}: {shlex.join(words)}\n" for words in self.commands)
        before = self.snapshot.text
        after = (self.after or b"").decode()
        return "".join(_difference(before, after, self))


class Desk(Reader):
    """Planner and executor of steps, for one machine."""

    # Planning

    def install(self, client: Client, wanted: Wanted, *, scope: str, via: str, force: bool) -> Step:
        """Plan the installation of an entry.

        Raises:
            Unclear: it is not possible.
        """
        if wanted.url and client.remote is None:
            raise Unable(f"{client.title} starts its servers itself, and takes no URL")
        seen = self.see(client, scope)
        name = wanted.name
        entry = entry_for(client, wanted)
        there = name in seen.entries
        # A file of the user may contain secrets; one of a project is shared.
        splice = self._spliced(client, seen, name, entry)._replace(private=scope == "user")
        if there and not splice.changes:
            return splice._replace(summary=f"has {name!r} already, in {seen.snapshot.path}")
        if there and not force:
            raise Unclear(
                f"{seen.snapshot.path} has another entry {name!r}; --force replaces it, and "
                "--name gives yours another name"
            )
        program = self._program(client, scope, via)
        if program is None:
            return self._checked(splice)
        row, path = program
        words = [[path, *command_for(row, client, wanted, scope)]]
        removal = removal_for(row, name, scope)
        if there and removal:
            words.insert(0, [path, *removal])
        summary = f"added {name!r} by {row.name}"
        undo: Undo = {"program": row.name, "before": digest(seen.snapshot.data)}
        undo |= {key: was for key, was in (splice.undo or {}).items() if key == "was"}
        step = splice._replace(after=None, commands=words, undo=undo, summary=summary)
        return self._remembered(step)

    def uninstall(self, client: Client, name: str, *, scope: str, via: str, force: bool) -> Step:
        """Plan the removal of an entry.

        Raises:
            Unclear: it does not exist, or cannot be removed.
        """
        seen = self.see(client, scope)
        path = seen.snapshot.path
        if name not in seen.entries:
            known = self.ours(seen)
            hint = f"; of ours, there is {', '.join(known)}" if known else ""
            raise Unclear(f"{path} has no entry {name!r}{hint}")
        if name not in self.ours(seen) and not force:
            raise Unclear(
                f"the entry {name!r} in {path} is not of toolhaft's making; --force removes it"
            )
        undo = self.receipts.undo(path, name) or {}
        if "program" not in undo:
            return self._checked(self._taken(client, seen, name, undo))
        step = Step(client, name, seen.snapshot, f"removed {name!r} from {path}")
        backup = files.kept(seen.snapshot)
        untouched = digest(seen.snapshot.data) == undo.get("after")
        if untouched and digest(backup) == undo["before"]:
            return self._checked(step._replace(after=backup))
        if "was" in undo:
            return self._checked(self._taken(client, seen, name, {"was": undo["was"]}))
        program = self._program(client, scope, via)
        if program is None or not program[0].remove:
            return self._checked(self._taken(client, seen, name, {}))
        words = [program[1], *removal_for(program[0], name, scope)]
        step = step._replace(commands=[words], summary=f"removed {name!r} by {program[0].name}")
        return self._remembered(step)

    def _program(self, client: Client, scope: str, via: str) -> tuple[Program, str] | None:
        program = None if via == "file" else programs.usable(client, scope)
        if program is None and via == "command":
            raise Unable(f"{client.title} has no command here that can do this")
        return program

    def _spliced(self, client: Client, seen: Seen, name: str, entry: Entry) -> Step:
        format_ = format_of(client)
        path = seen.snapshot.path
        there = name in seen.entries
        edit = format_.replace if there else format_.add
        try:
            splice = edit(seen.text, seen.parents, name, entry)
        except Unclear as error:
            raise Unclear(f"{path}: {error}") from None
        undo = splice.undo
        if name in self.ours(seen):
            undo = self.receipts.undo(path, name) or {}
        _verify(client, seen, splice.text, name, entry=entry)
        done = "replaced" if there else "added"
        return Step(
            client,
            name,
            seen.snapshot,
            f"{done} {name!r} in {path}",
            after=_encoded(splice.text),
            undo=undo,
            changes=format_.value(splice.text) != seen.value,
            entry=entry,
        )

    def _taken(self, client: Client, seen: Seen, name: str, undo: Undo) -> Step:
        format_ = format_of(client)
        path = seen.snapshot.path
        try:
            text = format_.take(seen.text, seen.parents, name, undo)
        except Unclear as error:
            raise Unclear(f"{path}: {error}") from None
        _verify(client, seen, text, name, entry=None)
        back = "put back what was there before" if "was" in undo else "removed"
        gone = self.receipts.created(path) and not text.strip("\ufeff \t\r\n")
        return Step(
            client,
            name,
            seen.snapshot,
            f"{back} {name!r} {'in' if 'was' in undo else 'from'} {path}",
            after=None if gone else _encoded(text),
        )

    def _checked(self, step: Step) -> Step:
        """Check that the files of a step are writable, and return it."""
        try:
            files.check_writable(step.snapshot)
        except Unclear as error:
            raise Unclear(f"{step.path}: {error}") from None
        return self._remembered(step)

    def _remembered(self, step: Step) -> Step:
        try:
            files.check_backup(step.snapshot)
        except Unclear as error:
            raise Unclear(f"{step.path}: {error}") from None
        try:
            files.check_writable(files.read(self._own))
        except Unclear as error:
            raise Unclear(f"{self._own}: {error}") from None
        return step

    # Applying

    def do(self, step: Step) -> str:
        """Apply a step and update the receipts; return a remark to print, or an empty string.

        Raises:
            Unclear: it failed.
        """
        if not step.changes:
            return ""
        try:
            if step.undo is not None:
                return self._make(step, step.undo)
            self._undo(step)
            return ""
        except Unclear as error:
            raise Unclear(f"{step.path}: {error}") from None

    def _make(self, step: Step, undo: Undo) -> str:
        path = step.path
        self.receipts.refresh()
        first = not self.receipts.names(path)
        folders: list[str] = []
        remark = ""
        if first:
            files.back_up(step.snapshot)
        try:
            if step.commands:
                for words in step.commands:
                    programs.run(words)
                remark = self._set_right(step)
                now = files.again(step.snapshot)
                undo = {**undo, "after": digest(now.data), "late": now.data == step.snapshot.data}
            else:
                assert step.after is not None, "an entry is never nothing"
                folders = files.write(step.snapshot, step.after, private=step.private)
        except (Unclear, KeyboardInterrupt) as error:
            rest = self._put_back(step, first=first)
            if isinstance(error, Unclear) and rest:
                raise Unclear(f"{error}\n{rest}") from None
            raise
        undo = {**undo, "words": _words(step.entry or {})}
        with self.receipts.changing():
            self.receipts.put(path, step.name, undo, created=step.snapshot.data is None)
            self.receipts.made_folders(path, folders)
        return remark

    def _set_right(self, step: Step) -> str:
        """Correct an entry that the client's command wrote wrongly; return a remark to print."""
        assert step.entry is not None, "commands add entries"
        program = step.commands[-1][0]
        try:
            seen = seen_in(step.client, files.again(step.snapshot))
            found = seen.entries.get(step.name)
            if isinstance(found, dict) and _facts(cast(Entry, found)) == _facts(step.entry):
                return ""
            if found is None and step.client.program and step.client.program.late:
                return f"{step.path} does not have it yet; {program} may write it later"
            right = self._spliced(step.client, seen, step.name, step.entry)
            files.write(seen.snapshot, right.after or b"", private=step.private)
        except Unclear as error:
            return f"what {program} has written cannot be checked: {error}"
        done = "left it out" if found is None else "wrote something else"
        return f"{program} {done}, so it was put right in {step.path}"

    def _put_back(self, step: Step, *, first: bool) -> str:
        """Restore the file after a failure; return a remark for the error message."""
        now = files.again(step.snapshot)
        if now.data == step.snapshot.data:
            if first:
                files.drop_backup(step.snapshot)
            return ""
        if not step.commands:
            return ""  # another program has written it
        # The first of two commands may have succeeded and removed the earlier entry.
        try:
            data = _as_before(step, now)
            if data is None:
                files.remove(now)
            else:
                files.write(now, data)
        except (Unclear, TypeError):  # TypeError: a value that the editors cannot write, as a date
            files.back_up(step.snapshot)
            return f"it has changed the file, of which {files.backup_of(step.path)} is the earlier"
        if first:
            files.drop_backup(step.snapshot)
        return f"{step.name!r} is again what it was before"

    def _undo(self, step: Step) -> None:
        path = step.path
        left: list[str] = []
        if step.commands:
            for words in step.commands:
                programs.run(words)
        elif step.after is None:
            files.remove(step.snapshot)
            left = files.remove_folders(self.receipts.folders(path))
        else:
            files.write(step.snapshot, step.after)
        with self.receipts.changing():
            self.receipts.drop(path, step.name)
            self.receipts.hand_on(left)
            if not self.receipts.names(path):
                files.drop_backup(step.snapshot)


def _words(entry: Entry) -> list[str]:
    """Return the command line or URL of an entry, by which a receipt recognises it."""
    keys = ("command", "cmd", "args", "url", "uri", "httpUrl", "serverUrl")
    return words_of([entry.get(key) for key in keys])


def _facts(entry: Entry) -> tuple[Any, ...]:
    """Return the parts of an entry to compare: programs add members and vary the form."""
    url = entry.get("url") or entry.get("httpUrl") or ""
    return entry.get("command", ""), entry.get("args") or [], entry.get("env") or {}, url


def _as_before(step: Step, now: Snapshot) -> bytes | None:
    """Return the content of a file with the earlier entry restored; None to remove the file.

    If only the entry differs, the earlier content is restored to the byte. Otherwise another
    program has changed other parts meanwhile, and these are kept.

    Raises:
        Unclear: the entry cannot be restored.
    """
    format_ = format_of(step.client)
    before, seen = seen_in(step.client, step.snapshot), seen_in(step.client, now)
    keys = [*seen.parents, step.name]
    if without(before.value, keys) == without(seen.value, keys):
        return step.snapshot.data
    old = before.entries.get(step.name)
    there = step.name in seen.entries
    text = seen.text
    if old is not None:
        edit = format_.replace if there else format_.add
        text = edit(text, seen.parents, step.name, old).text
    elif there:
        text = format_.take(text, seen.parents, step.name, {})
    _verify(step.client, seen, text, step.name, entry=old)
    return _encoded(text)


def _verify(client: Client, seen: Seen, text: str, name: str, *, entry: Entry | None) -> None:
    """Check that a new text differs from the old one in the given entry only."""
    format_ = format_of(client)
    keys = [*seen.parents, name]
    try:
        value = format_.value(text)
        right = without(value, keys) == without(seen.value, keys)
        if entry is not None:
            found = entries_of(value, seen.parents).get(name)
            # A YAML entry is not parsed but a string of lines, which the editor has written.
            right = right and (found == entry or isinstance(found, str))
    except Unclear:
        right = False
    if not right:
        raise Unclear(
            f"{seen.snapshot.path} is written in a way that cannot be changed safely; nothing was "
            "written; change it by hand"
        )


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Unclear("a path or a value is not UTF-8, and cannot be written") from None


def _difference(before: str, after: str, step: Step) -> list[str]:
    old = "/dev/null" if step.snapshot.data is None else str(step.path)
    new = "/dev/null" if step.after is None else str(step.path)
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        after.splitlines(keepends=True),
        old,
        new,
        n=0,  # context lines may contain secrets
    )
    ended = "\n\\ No newline at end of file\n"
    shown = [line if line.endswith(("\n", "\r")) else line + ended for line in lines]
    return _without_commas(shown)


def _without_commas(lines: list[str]) -> list[str]:
    """Replace the diff of a line that only gains or loses a comma by a note: it may contain a
    secret of a neighbouring entry."""
    shown: list[str] = []
    hunk = 0
    for line in lines:
        if line.startswith("@@"):
            hunk = len(shown)
        same = [at for at in range(hunk + 1, len(shown)) if _differ_by_comma(shown[at], line)]
        if same:
            first = int(re.findall(r"\d+", shown[hunk])[0])
            gets = "gets" if len(line) > len(shown[same[0]]) else "loses"
            shown[same[0]] = f"~ line {first + same[0] - hunk - 1} stays, and {gets} a comma\n"
        else:
            shown.append(line)
    return shown


def _differ_by_comma(was: str, now: str) -> bool:
    if not (was.startswith("-") and now.startswith("+") and was[1:].strip() and now[1:].strip()):
        return False
    short, long = sorted((was[1:], now[1:]), key=len)
    differing = (at for at, letter in enumerate(short) if letter != long[at])
    at = next(differing, len(short))
    return long[at : at + 1] == "," and long[at + 1 :] == short[at:]
