"""Which server a TARGET is."""

from pathlib import Path

import pytest
from tests.cli.running import toolhaft


def write(path: Path, *names: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = ", ".join(names)
    text = (
        "from toolhaft import Server\n"
        + "".join(f'{name} = Server("{name}", version="1.0.0")\n' for name in names)
        + f"for each in ({listed},):\n"
        '    each.add_tool(lambda: "here", name=f"in_{each.name}", description="Say so.")\n'
        "del each\n"
    )
    path.write_text(text)


def called(target: str, tool: str, cwd: Path) -> tuple[int, str]:
    done = toolhaft("call", target, tool, cwd=cwd)
    return done.returncode, done.stdout.strip() or done.stderr.strip()


def test_of_several_servers_the_one_named_server_is_meant(tmp_path: Path) -> None:
    write(tmp_path / "many.py", "git", "server")

    assert called("many.py", "in_server", tmp_path) == (0, "here")
    assert called("many.py:git", "in_git", tmp_path) == (0, "here")


def test_of_several_servers_with_other_names_one_has_to_be_said(tmp_path: Path) -> None:
    write(tmp_path / "many.py", "git", "files")

    code, told = called("many.py", "in_git", tmp_path)

    assert code == 2
    assert told.endswith("many.py has several servers; say which: many.py:git or many.py:files")


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("src/shop/main.py", "shop.main:server"),
        ("shop/main.py", "shop.main"),
        ("main.py", "main.py"),
        ("main.py", "main.py:server"),
    ],
)
def test_a_folder_says_in_its_pyproject_which_server_it_is(
    tmp_path: Path, file: str, named: str
) -> None:
    project = tmp_path / "project"
    write(project / file, "server")
    (project / "pyproject.toml").write_text(f'[tool.toolhaft]\nserver = "{named}"\n')

    assert called("project", "in_server", tmp_path) == (0, "here")
    assert called(".", "in_server", project) == (0, "here")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "is a folder without a pyproject.toml; name a file in it"),
        ("", 'write there: [tool.toolhaft] server = "package.module:name"'),
        ("[tool]\ntoolhaft = 5\n", "does not say which server"),
        ("[tool.toolhaft]\nserver = 5\n", "does not say which server"),
        ("[tool", "cannot be read: "),
        ('[tool.toolhaft]\nserver = "nowhere:server"\n', "there is no module 'nowhere'"),
    ],
)
def test_a_folder_that_names_no_server_is_told_how(
    tmp_path: Path, text: str | None, told: str
) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)

    code, said = called(str(tmp_path), "add", tmp_path)

    assert code == 2
    assert told in said


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("./first", "there is no module './first'; a file is named with its ending; did you mean "),
        ("./first", "did you mean first.py?"),
        ("firts", "a file is named with its ending; did you mean first.py?"),
        ("firts.py", "there is no file 'firts.py'; did you mean first.py?"),
        ("../second", "there is no module '../second'; a file is named with its ending, as in .."),
        ("first.txt", "'first.txt' is no file of Python; the name of one ends in .py"),
        ("first..py:x", "there is no file 'first..py'; did you mean first.py?"),
        ("", "there is no module ''"),
    ],
)
def test_a_file_that_is_not_there_is_told_from_the_one_that_was_meant(
    tmp_path: Path, target: str, told: str
) -> None:
    folder = tmp_path / "folder"
    write(folder / "first.py", "server")
    (folder / "first.txt").write_text("")

    done = toolhaft("run", target, cwd=folder)

    assert done.returncode == 2
    assert told in done.stderr
    assert "http" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_command_that_takes_a_url_says_so(tmp_path: Path) -> None:
    done = toolhaft("list", "nowhere", cwd=tmp_path)

    assert done.stderr == (
        "toolhaft: there is no module 'nowhere'; a file is named with its ending, as in "
        "nowhere.py, and a server that runs by its URL, as in http://127.0.0.1:8000/mcp\n"
    )


@pytest.mark.parametrize(
    ("source", "maker"),
    [
        ("def build() -> Server: ...\n", "build"),
        ("def build() -> 'Server': ...\n", "build"),
        ("def helper(): ...\ndef new_server(name='x'): ...\n", "new_server"),
        ("def new_server(name): ...\n", "FUNCTION"),
        ("from http.server import test as server_test\n", "FUNCTION"),
        ("x = 1\n", "FUNCTION"),
    ],
)
def test_a_file_without_a_server_is_told_which_function_may_make_one(
    tmp_path: Path, source: str, maker: str
) -> None:
    (tmp_path / "none.py").write_text("from toolhaft import Server\n" + source)

    done = toolhaft("run", "none.py", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.endswith(f"name a function that makes one, as in none.py:{maker}\n")


def test_a_bare_word_is_a_package_before_it_is_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "package" / "__init__.py", "server")
    (tmp_path / "pyproject.toml").write_text('[tool.toolhaft]\nserver = "package"\n')

    assert called("package", "in_server", tmp_path) == (0, "here")
    assert called(".", "in_server", tmp_path) == (0, "here")


def test_a_folder_that_names_itself_is_no_server(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.toolhaft]\nserver = "."\n')

    code, said = called(".", "add", tmp_path)

    assert code == 2
    assert "Traceback" not in said
