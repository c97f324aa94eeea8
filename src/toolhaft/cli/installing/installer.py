"""What is to be done for one client: worked out and checked first, then done."""

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
    """One change of one file: its new text, None if it goes, or the commands that change it.

    Without a change there is nothing to do.
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
        """The file, which is not a link."""
        return self.snapshot.path

    def shown(self) -> str:
        """What would happen: a command as for a shell, or the difference."""
        if not self.changes:
            return f"{self.client.id}: {self.summary}\n"
        if self.commands:
            return "".join(f"{self.client.id}: {shlex.join(words)}\n" for words in self.commands)
        before = self.snapshot.text
        after = (self.after or b"").decode()
        return "".join(_difference(before, after, self))


class Desk(Reader):
    """Where steps are worked out and done, for one machine."""

    # Working out

    def install(self, client: Client, wanted: Wanted, *, scope: str, via: str, force: bool) -> Step:
        """How an entry is put in.

        Raises:
            Unclear: it cannot be.
        """
        if wanted.url and client.remote is None:
            raise Unable(f"{client.title} starts its servers itself, and takes no URL")
        seen = self.see(client, scope)
        name = wanted.name
        entry = entry_for(client, wanted)
        there = name in seen.entries
        # A file of the user's may hold secrets; one of a project is for everybody.
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
        """How an entry is taken out.

        Raises:
            Unclear: it is not there, or cannot be taken out.
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
        """A step that will not fail for a reason that can be known before."""
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

    # Doing

    def do(self, step: Step) -> str:
        """Make the change, and remember it; the result is what else is to be said, if anything.

        Raises:
            Unclear: it could not be made.
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
        """See what a command has written, and write what it has got wrong. What there is to say."""
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
        """After a failure: the file as it was. What is left to be said of it, if anything."""
        now = files.again(step.snapshot)
        if now.data == step.snapshot.data:
            if first:
                files.drop_backup(step.snapshot)
            return ""
        if not step.commands:
            return ""  # somebody else has written it; we have not
        # One of several commands may have done its part, such as to remove the earlier entry.
        try:
            data = _as_before(step, now)
            if data is None:
                files.remove(now)
            else:
                files.write(now, data)
        except (Unclear, TypeError):  # or the entry had a value that we never write, as a date
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
    """What is started, or where it is: by these we know again what we have written."""
    keys = ("command", "cmd", "args", "url", "uri", "httpUrl", "serverUrl")
    return words_of([entry.get(key) for key in keys])


def _facts(entry: Entry) -> tuple[Any, ...]:
    """What it comes to. Programs write it in their own way, and add things of their own."""
    url = entry.get("url") or entry.get("httpUrl") or ""
    return entry.get("command", ""), entry.get("args") or [], entry.get("env") or {}, url


def _as_before(step: Step, now: Snapshot) -> bytes | None:
    """What a file has to say so that an entry is as it was; None if it has to go.

    All of it is as it was, to the byte, if nothing but the entry differs; else the client, or
    somebody else, has written other things meanwhile, and these stay.

    Raises:
        Unclear: that cannot be done.
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
    """Does the new text say what it should? All else must be as before."""
    format_ = format_of(client)
    keys = [*seen.parents, name]
    try:
        value = format_.value(text)
        right = without(value, keys) == without(seen.value, keys)
        if entry is not None:
            found = entries_of(value, seen.parents).get(name)
            # Of YAML we see only the lines, which is enough: we have written them.
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
        n=0,  # what stands around it may be a secret
    )
    ended = "\n\\ No newline at end of file\n"
    shown = [line if line.endswith(("\n", "\r")) else line + ended for line in lines]
    return _without_commas(shown)


def _without_commas(lines: list[str]) -> list[str]:
    """A line of a neighbour that only gets or loses a comma stays what it is, and may hold a
    secret: so that is said of it, and it is not shown."""
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
