"""Files of others are changed as a whole or not at all."""

import os
import stat
import threading
from pathlib import Path

import pytest
from tests.cli.installing.folders import names

from toolhaft.cli.installing import files
from toolhaft.cli.installing.editors.text_edits import Unclear


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


@pytest.mark.parametrize("before", [0o600, 0o640, 0o664])
def test_a_backup_has_the_mode_of_its_file(tmp_path: Path, before: int) -> None:
    path, backup = tmp_path / "mcp.json", tmp_path / "mcp.json.toolhaft.bak"
    path.write_bytes(b"{}")
    path.chmod(before)
    backup.write_bytes(b"an older one")
    backup.chmod(0o666)

    files.back_up(files.read(path))

    assert (backup.read_bytes(), mode(backup), mode(path)) == (b"{}", before, before)
