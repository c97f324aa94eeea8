"""No link is followed where none was when the folder was opened."""

from pathlib import Path

import pytest
from tests.cli.installing.folders import names

from toolhaft.cli.installing import files
from toolhaft.cli.installing.editors.text_edits import Unclear


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
