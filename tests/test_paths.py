"""Paths below a folder, made of what a client sent."""

import time
from contextlib import suppress
from pathlib import Path

import pytest

from toolhaft import NotFound
from toolhaft.paths import safe_join

# What is tried against servers, as it arrives after percent-decoding, and some of it before.
ESCAPES = [
    "..",
    "../",
    "../secret",
    "../../secret",
    "../../../../../../../../etc/passwd",
    "a/..",
    "a/../..",
    "a/../../secret",
    "a/../a",
    "./..",
    "./../secret",
    ".//..//secret",
    "a/./../../secret",
    "a/b/c/../../../../secret",
    "a//../..//secret",
    "../notes/a",
    "../notes-of-another/secret",
    "a/..\0",
    "..\0/secret",
    "a.txt\0",
    "a.txt\0.png",
    "\0",
    "a\0b/c",
    "/",
    "//",
    "/etc/passwd",
    "//etc/passwd",
    "///etc/passwd",
    "/../etc/passwd",
    "/./etc/passwd",
    "//server/share/secret",
    "\\",
    "\\\\server\\share",
    "\\\\?\\C:\\secret",
    "\\\\.\\C:\\secret",
    "//?/C:/secret",
    "//./C:/secret",
    "\\etc\\passwd",
    "..\\secret",
    "..\\..\\secret",
    "a\\..\\..\\secret",
    "a/..\\..\\secret",
    "..\\/secret",
    "../\\secret",
    "a\\b",
    "C:",
    "C:/",
    "C:\\",
    "C:/secret",
    "C:\\secret",
    "C:secret",
    "c:secret",
    "z:..",
    "C:../secret",
    "a/C:/secret",
    "a/C:secret",
    "./C:/secret",
    "...",
    "..../secret",
    ".../...//secret",
    ".. /secret",
    ".. ",
    ". .",
    " ..",
    "a/.. /.. /secret",
    "\udcff/../secret",
    "\ud800",
    "a/\ud800/b",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with something in it, and something beside it that nobody may see."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "notes-of-another").mkdir()
    (tmp_path / "notes-of-another" / "secret").write_text("secret")
    root = tmp_path / "notes"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b.txt").write_text("b")
    return root


def test_there_are_enough_attempts() -> None:
    assert len(set(ESCAPES)) >= 60


@pytest.mark.parametrize("path", ESCAPES)
def test_what_leads_out_is_not_found(root: Path, path: str) -> None:
    with pytest.raises(NotFound) as caught:
        safe_join(root, path)

    assert str(root.parent) not in caught.value.message
    assert len(caught.value.message) < 300


@pytest.mark.parametrize("path", ESCAPES)
def test_what_leads_out_is_not_found_as_a_later_part(root: Path, path: str) -> None:
    with pytest.raises(NotFound):
        safe_join(root, "a", path)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("a",), "a"),
        (("a/b.txt",), "a/b.txt"),
        (("a", "b.txt"), "a/b.txt"),
        (("a/", "b.txt"), "a/b.txt"),
        (("./a/./b.txt",), "a/b.txt"),
        (("a//b.txt",), "a/b.txt"),
        (("a/b/",), "a/b"),
        (("new.txt",), "new.txt"),
        (("new/folder/file",), "new/folder/file"),
        (("a/b.txt/below a file",), "a/b.txt/below a file"),
        ((".hidden",), ".hidden"),
        (("..hidden",), "..hidden"),
        (("a..b",), "a..b"),
        (("a...",), "a..."),
        (("...a",), "...a"),
        (("with blanks.txt",), "with blanks.txt"),
        (("größe/🎈",), "größe/🎈"),
        (("12:30.log",), "12:30.log"),
        (("CON",), "CON"),
        (("nul.txt",), "nul.txt"),
        (("~",), "~"),
        (("~root/x",), "~root/x"),
        (("$HOME/x",), "$HOME/x"),
    ],
)
def test_what_stays_inside_is_joined(root: Path, parts: tuple[str, ...], expected: str) -> None:
    assert safe_join(root, *parts) == root / expected


@pytest.mark.parametrize(
    "name",
    [
        "%2e%2e",
        "%2e%2e%2fsecret",
        "..%2fsecret",
        "%2fetc%2fpasswd",
        "..%5csecret",
        "%00",
        "..%c0%af",
    ],
)
def test_percent_signs_are_not_decoded(root: Path, name: str) -> None:
    assert safe_join(root, name) == root / name


@pytest.mark.parametrize("parts", [(), ("",), (".",), ("", ".", "./")])
def test_nothing_is_the_folder_itself(root: Path, parts: tuple[str, ...]) -> None:
    assert safe_join(root, *parts) == root


def test_the_root_may_be_text(root: Path) -> None:
    assert safe_join(str(root), "a") == root / "a"


def test_a_root_may_be_relative(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root.parent)

    assert safe_join("notes", "a") == root / "a"


def test_a_root_may_be_a_link(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)

    assert safe_join(link, "a/b.txt") == root / "a" / "b.txt"


def test_a_root_that_does_not_exist_is_the_authors_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the root '.*nowhere' cannot be used"):
        safe_join(tmp_path / "nowhere", "a")


def test_a_root_that_is_a_file_is_the_authors_mistake(root: Path) -> None:
    with pytest.raises(ValueError, match="is no folder"):
        safe_join(root / "a" / "b.txt", "a")


def test_a_part_that_is_no_text_is_the_authors_mistake(root: Path) -> None:
    with pytest.raises(TypeError, match="parts are str, not PosixPath"):
        safe_join(root, Path("a"))  # type: ignore[arg-type]


def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    (root / "link").symlink_to("a")

    assert safe_join(root, "link/b.txt") == root / "a" / "b.txt"


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("..", "link"),
        ("../secret", "link"),
        ("..", "link/secret"),
        ("..", "link/does/not/exist"),
        ("../notes-of-another", "link/secret"),
        ("../not-there-yet", "link"),
        ("../not-there-yet", "link/x"),
        ("a/../../secret", "link"),
        ("/", "link/etc/passwd"),
        ("/etc/passwd", "link"),
        ("/proc/self/root", "link/etc/passwd"),
    ],
)
def test_a_link_that_leads_out_is_not_found(root: Path, target: str, path: str) -> None:
    (root / "link").symlink_to(target)

    with pytest.raises(NotFound):
        safe_join(root, path)


def test_a_link_to_a_link_that_leads_out_is_not_found(root: Path) -> None:
    (root / "first").symlink_to("a/second")
    (root / "a" / "second").symlink_to("../../secret")

    with pytest.raises(NotFound):
        safe_join(root, "first")


def test_a_link_out_and_back_in_is_inside(root: Path) -> None:
    (root / "link").symlink_to("../notes/a")

    assert safe_join(root, "link", "b.txt") == root / "a" / "b.txt"


@pytest.mark.parametrize("target", ["link", "./link", "a/back"])
def test_links_in_a_circle_are_not_found(root: Path, target: str) -> None:
    (root / "link").symlink_to(target)
    (root / "a" / "back").symlink_to("../link")

    with pytest.raises(NotFound):
        safe_join(root, "link")


def test_a_root_is_no_prefix_of_its_neighbours(root: Path) -> None:
    (root / "link").symlink_to(str(root) + "-of-another")

    with pytest.raises(NotFound):
        safe_join(root, "link/secret")


def test_a_name_that_no_file_can_have_is_not_found(root: Path) -> None:
    with pytest.raises(NotFound):
        safe_join(root, "x" * 300)


def test_a_refusal_says_what_was_asked_for(root: Path) -> None:
    with pytest.raises(NotFound) as caught:
        safe_join(root, "a", "../../secret")

    assert caught.value.message == "not found: 'a/../../secret'"


@pytest.mark.parametrize("path", [" ." * 50_000 + "x", "../" * 50_000, "./" * 50_000])
def test_long_paths_take_no_time(root: Path, path: str) -> None:
    begin = time.perf_counter()
    with suppress(NotFound):
        safe_join(root, path)

    assert time.perf_counter() - begin < 0.5
