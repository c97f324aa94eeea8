"""Files of others are changed as a whole or not at all."""

import os
import stat
import threading
from pathlib import Path

import pytest

from toolhaft.cli.installing import files
from toolhaft.cli.installing.editors.text_edits import Unclear


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_replaced_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"old")
    path.chmod(0o640)

    files.write(files.read(path), b"new")

    assert path.read_bytes() == b"new"
    assert mode(path) == 0o640
    assert names(tmp_path) == ["mcp.json"]


def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"old")
    # Only root can give files away; others can choose among their groups.
    owner = (12345, 23456) if os.getuid() == 0 else (os.getuid(), os.getgroups()[-1])
    os.chown(path, *owner)

    files.write(files.read(path), b"new")

    assert (path.stat().st_uid, path.stat().st_gid) == owner


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "real.json"
    real.write_bytes(b"old")
    link = tmp_path / "mcp.json"
    link.symlink_to("dotfiles/real.json")

    snapshot = files.read(link)
    files.back_up(snapshot)
    files.write(snapshot, b"new")

    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert names(tmp_path / "dotfiles") == ["real.json", "real.json.toolhaft.bak"]


def test_a_new_file_may_be_private(tmp_path: Path) -> None:
    made = files.write(files.read(tmp_path / "a" / "b" / "new"), b"x", private=True)
    files.write(files.read(tmp_path / "public"), b"x")

    assert mode(tmp_path / "a" / "b" / "new") == 0o600
    assert mode(tmp_path / "public") == 0o666 & ~current_umask()
    assert made == [str(tmp_path / "a"), str(tmp_path / "a" / "b")]


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_backup_is_for_the_same_eyes(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"secret")
    path.chmod(0o600)

    files.back_up(files.read(path))

    backup = tmp_path / "mcp.json.toolhaft.bak"
    assert backup.read_bytes() == b"secret"
    assert mode(backup) == 0o600


def test_what_changed_since_it_was_read_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"old")
    snapshot = files.read(path)
    path.write_bytes(b"theirs")

    with pytest.raises(Unclear, match="changed by another program"):
        files.write(snapshot, b"new")
    with pytest.raises(Unclear, match="changed by another program"):
        files.remove(snapshot)

    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["mcp.json"]


def test_what_appeared_since_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "new" / "mcp.json"
    snapshot = files.read(path)
    path.parent.mkdir()
    path.write_bytes(b"theirs")

    with pytest.raises(Unclear, match="changed by another program"):
        files.write(snapshot, b"new")

    assert path.read_bytes() == b"theirs"


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "folder" / "mcp.json"

    def locked(*_: object, **__: object) -> None:
        raise PermissionError(13, "the file is used by another process")

    monkeypatch.setattr(os, "replace", locked)
    with pytest.raises(Unclear, match="cannot be written: the file is used by another process"):
        files.write(files.read(path), b"new")

    assert names(tmp_path) == []


def test_readers_see_the_old_or_the_new_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    old, new = b"a" * 100_000, b"b" * 100_000
    path.write_bytes(old)
    seen: set[bytes] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for data in [new, old] * 10:
            files.write(files.read(path), data)
    finally:
        done.set()
        reader.join()

    assert seen <= {old, new}


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "mcp.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path)

    with pytest.raises(Unclear, match=r"no file|cannot be read"):
        files.read(path)


def test_what_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes('{"a": 1}'.encode("utf-16"))

    with pytest.raises(Unclear, match="not UTF-8 at byte 0"):
        assert files.read(path).text


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"{}")
    path.chmod(0o444)

    with pytest.raises(Unclear, match="read-only"):
        files.check_writable(files.read(path))


def test_a_file_where_a_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    snapshot = files.Snapshot(tmp_path / "file" / "mcp.json", None)

    with pytest.raises(Unclear, match="file is no folder"):
        files.check_writable(snapshot)


def test_only_folders_that_nobody_uses_are_removed(tmp_path: Path) -> None:
    outer, inner = tmp_path / "a", tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (outer / "theirs").write_bytes(b"")

    files.remove_folders([str(outer), str(inner)])

    assert names(tmp_path) == ["a"]
    assert names(outer) == ["theirs"]


@pytest.mark.parametrize("precious", ["there", "not there"])
def test_a_backup_is_not_written_through_a_link(tmp_path: Path, precious: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"{}")
    if precious == "there":
        (tmp_path / "precious").write_bytes(b"mine")
    (tmp_path / "mcp.json.toolhaft.bak").symlink_to("precious")
    before = names(tmp_path)

    for root in (None, tmp_path):
        with pytest.raises(Unclear, match="which is a symbolic link; remove that first"):
            files.back_up(files.read(path, root))
        assert files.kept(files.read(path, root)) is None

    assert names(tmp_path) == before
    if precious == "there":
        assert (tmp_path / "precious").read_bytes() == b"mine"


@pytest.mark.parametrize("linked", ["a", "a/b", "a/b/mcp.json"])
@pytest.mark.parametrize("target", ["there", "not there"])
def test_no_link_below_a_project_is_followed(tmp_path: Path, linked: str, target: str) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    path = project / "a" / "b" / "mcp.json"
    link = project / linked
    link.parent.mkdir(parents=True)
    if target == "there":
        real = outside / path.relative_to(link)
        real.parent.mkdir(parents=True, exist_ok=True)
        real.write_bytes(b"mine")
    link.symlink_to(outside)

    with pytest.raises(Unclear, match=rf"{linked} is a symbolic link, and a project's files"):
        files.read(path, project)


def test_a_folder_that_becomes_a_link_after_it_was_read_is_not_followed(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (project, outside):
        (folder / "a").mkdir(parents=True)
        (folder / "a" / "mcp.json").write_bytes(b"{}")
    snapshot = files.read(project / "a" / "mcp.json", project)
    (project / "a").rename(project / "old")
    (project / "a").symlink_to(outside / "a")

    for change in (
        lambda: files.write(snapshot, b"new"),
        lambda: files.back_up(snapshot),
        lambda: files.remove(snapshot),
    ):
        with pytest.raises(Unclear, match="symbolic link"):
            change()

    assert names(outside / "a") == ["mcp.json"]
    assert (outside / "a" / "mcp.json").read_bytes() == b"{}"


def test_a_file_that_becomes_a_link_after_it_was_read_is_not_followed(tmp_path: Path) -> None:
    path, precious = tmp_path / "mcp.json", tmp_path / "precious"
    path.write_bytes(b"{}")
    precious.write_bytes(b"{}")
    snapshot = files.read(path, tmp_path)
    path.unlink()
    path.symlink_to(precious)

    for change in (lambda: files.write(snapshot, b"new"), lambda: files.remove(snapshot)):
        with pytest.raises(Unclear, match="no file"):
            change()

    assert precious.read_bytes() == b"{}"


def test_a_project_reached_through_a_link_is_that_project(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "project").symlink_to("real")

    project = tmp_path / "project"
    made = files.write(files.read(project / ".cursor" / "mcp.json", project), b"new")

    assert made == [str(tmp_path / "real" / ".cursor")]
    assert (tmp_path / "real" / ".cursor" / "mcp.json").read_bytes() == b"new"


@pytest.mark.parametrize("before", [0o600, 0o640, 0o664])
def test_a_backup_has_the_mode_of_its_file(tmp_path: Path, before: int) -> None:
    path, backup = tmp_path / "mcp.json", tmp_path / "mcp.json.toolhaft.bak"
    path.write_bytes(b"{}")
    path.chmod(before)
    backup.write_bytes(b"an older one")
    backup.chmod(0o666)

    files.back_up(files.read(path))

    assert (backup.read_bytes(), mode(backup), mode(path)) == (b"{}", before, before)


def test_a_backup_is_not_removed_through_a_folder_that_became_a_link(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    (project / ".vscode").mkdir(parents=True)
    (project / ".vscode" / "mcp.json").write_text("{}")
    elsewhere.mkdir()
    precious = elsewhere / "mcp.json.toolhaft.bak"
    precious.write_text("precious")
    snapshot = files.read(project / ".vscode" / "mcp.json", project)
    (project / ".vscode").rename(project / "before")
    (project / ".vscode").symlink_to(elsewhere)

    with pytest.raises(Unclear, match="symbolic link"):
        files.drop_backup(snapshot)

    assert precious.read_text() == "precious"
