"""Clients' own commands, played by small programs on the PATH."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.cli.installing.conftest import House

# Notes what it was asked, and changes its file as a program would: all of it written anew.
PLAYER = """
asked = os.path.expanduser("~/asked.json")
calls = json.load(open(asked)) if os.path.exists(asked) else []
json.dump([*calls, sys.argv[1:]], open(asked, "w"))
path = os.path.expanduser({path!r})
known = json.load(open(path)) if os.path.exists(path) else {{}}
servers = known.setdefault({parent!r}, {{}})
words = sys.argv[1:]
if "remove" in words:
    del servers[words[-1]]
else:
    pairs = [after for word, after in zip(words, words[1:]) if word == "-e"]
    env = dict(pair.split("=")[:2] for pair in pairs)  # as some do, which is wrong
    if words[0] == "--add-mcp":
        told = json.loads(words[1])
        servers[told.pop("name")] = told
    else:
        name, *command = [word for word in words[words.index("notes"):] if word != "--"]
        servers[name] = {{"command": command[0], "args": command[1:], "env": env}}
os.makedirs(os.path.dirname(path), exist_ok=True)
json.dump(known, open(path, "w"))
"""
PLAYED = {
    "claude-code": ("claude", ".claude.json", "mcpServers"),
    "gemini": ("gemini", ".gemini/settings.json", "mcpServers"),
    "vscode": ("code", ".config/Code/User/mcp.json", "servers"),
}
WRITTEN = '{\n  "theme": "dark" // mine\n}\n'
every_player = pytest.mark.parametrize("client", list(PLAYED))


def play(house: House, client: str) -> Path:
    """Put the program of a client on the PATH; its file."""
    program, path, parent = PLAYED[client]
    house.program(program, PLAYER.format(path=f"~/{path}", parent=parent))
    return house.home / path


def asked(house: House) -> list[list[str]]:
    path = house.home / "asked.json"
    calls: list[list[str]] = json.loads(path.read_text()) if path.exists() else []
    return calls


def install(house: House, *words: str) -> Any:
    return house.run("install", *words, "notes.py", "--no-check")


@every_player
def test_a_program_is_asked_if_it_is_there(house: House, client: str) -> None:
    play(house, client)
    done = install(house, client, "--env", "K=v w")
    [call] = asked(house)
    server = str(house.project / "notes.py")

    assert (done.status, done.err) == (0, "")
    assert f"{client}: added 'notes' by {PLAYED[client][0]}\n" in done.out
    if client == "vscode":
        assert call[0] == "--add-mcp"
        told = json.loads(call[1])
        assert (told["name"], told["type"], told["env"]) == ("notes", "stdio", {"K": "v w"})
        assert told["args"][-2:] == ["run", server]
    elif client == "gemini":
        assert call[:7] == ["mcp", "add", "-s", "user", "-e", "K=v w", "notes"]
        assert Path(call[7]).is_absolute()
        assert call[8] == "--"
        assert call[-2:] == ["run", server]
    else:
        assert call[:7] == ["mcp", "add", "-s", "user", "-e", "K=v w", "--transport"]
        assert call[7:10] == ["stdio", "notes", "--"]
        assert call[-2:] == ["run", server]


def test_codex_is_asked_too(house: House) -> None:
    house.program("codex", "json.dump(sys.argv[1:], open(os.path.expanduser('~/asked.json'), 'w'))")
    done = install(house, "codex", "--env", "A=1", "--env", "B=2")
    call = json.loads((house.home / "asked.json").read_text())
    path = house.home / ".codex/config.toml"

    assert done.status == 0
    assert call[:8] == ["mcp", "add", "notes", "--env", "A=1", "--env", "B=2", "--"]
    assert call[-2:] == ["run", str(house.project / "notes.py")]
    assert f"{house.programs}/codex left it out, so it was put right in {path}\n" in done.out
    assert tomllib.loads(path.read_text())["mcp_servers"]["notes"]["env"] == {"A": "1", "B": "2"}


@pytest.mark.parametrize("value", ["c2VjcmV0==", "http://x/?a=1", "", "plain"])
def test_what_a_program_got_wrong_is_put_right(house: House, value: str) -> None:
    path = play(house, "gemini")
    path.parent.mkdir()
    path.write_text("{ }")
    done = install(house, "gemini", "--env", f"API={value}")
    written = json.loads(path.read_text())["mcpServers"]["notes"]
    house.run("uninstall", "gemini", "notes")

    assert (done.status, done.err) == (0, "")
    assert written["env"] == {"API": value}
    assert (f"gemini wrote something else, so it was put right in {path}" in done.out) == (
        "=" in value
    )
    assert path.read_text() == "{ }"


def test_an_application_may_write_later(house: House) -> None:
    house.program("code", "")
    done = install(house, "vscode")
    path = house.home / ".config/Code/User/mcp.json"

    assert (done.status, done.err) == (0, "")
    assert f"{path} does not have it yet; {house.programs}/code may write it later\n" in done.out
    assert not path.exists()

    url = "https://example.org/mcp"
    house.run("install", "vscode", "--http", url, "--name", "remote")
    house.put(".config/Code/User/mcp.json", json.dumps({"servers": {"remote": {"url": url}}}))
    assert house.run("uninstall", "vscode", "remote").status == 0


@every_player
def test_what_a_program_wrote_is_undone_to_the_byte(house: House, client: str) -> None:
    path = play(house, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = WRITTEN.replace(" // mine", "  ")
    path.write_text(text)

    install(house, client)
    changed = path.read_text() != text
    done = house.run("uninstall", client, "notes")

    assert changed
    assert done.status == 0
    assert path.read_text() == text
    assert len(asked(house)) == 1
    assert not path.with_name(path.name + ".toolhaft.bak").exists()


@every_player
def test_a_file_that_a_program_made_is_removed(house: House, client: str) -> None:
    path = play(house, client)
    install(house, client)
    made = path.exists()
    house.run("uninstall", client, "notes")

    assert (made, path.exists()) == (True, False)


@every_player
def test_if_the_file_has_changed_the_program_is_asked_again(house: House, client: str) -> None:
    path = play(house, client)
    install(house, client)
    path.write_text(path.read_text() + "\n")

    done = house.run("uninstall", client, "notes")
    calls = asked(house)

    assert done.status == 0
    assert json.loads(path.read_text())[PLAYED[client][2]] == {}
    if client == "vscode":  # which cannot remove anything
        assert len(calls) == 1
    else:
        assert calls[1] == ["mcp", "remove", "-s", "user", "notes"]


def test_a_replacement_is_a_removal_first(house: House) -> None:
    play(house, "claude-code")
    install(house, "claude-code")
    refused = install(house, "claude-code")
    install(house, "claude-code", "--force", "--scope", "user")

    assert refused.status == 3
    assert [call[:2] for call in asked(house)] == [
        ["mcp", "add"],
        ["mcp", "remove"],
        ["mcp", "add"],
    ]


def test_a_program_that_knows_no_projects_is_not_asked(house: House) -> None:
    play(house, "vscode")
    install(house, "vscode", "--scope", "project")

    assert asked(house) == []
    assert (house.project / ".vscode/mcp.json").exists()


def test_a_scope_is_passed_on(house: House) -> None:
    play(house, "gemini")
    install(house, "gemini", "--scope", "project")

    assert asked(house)[0][2:4] == ["-s", "project"]


def test_the_file_may_be_preferred(house: House) -> None:
    path = play(house, "claude-code")
    path.write_text(WRITTEN)
    install(house, "claude-code", "--via", "file")
    during = path.read_text()
    house.run("uninstall", "claude-code", "notes")

    assert "// mine" in during
    assert path.read_text() == WRITTEN
    assert asked(house) == []


def test_the_program_may_be_insisted_on(house: House) -> None:
    done = install(house, "claude-code", "--via", "command")

    assert done.status == 3
    assert "Claude Code has no command here that can do this" in done.err


def test_a_dry_run_shows_the_command(house: House) -> None:
    play(house, "claude-code")
    done = install(house, "claude-code", "--dry-run", "--env", "K=v w")

    assert done.out.startswith(
        f"claude-code: {house.programs}/claude mcp add -s user -e 'K=v w' --transport stdio "
        "notes -- "
    )
    assert asked(house) == []


def test_a_program_that_fails_is_quoted(house: House) -> None:
    path = house.put(".claude.json", "{}")
    house.program("claude", "sys.exit('no such scope')")
    before = house.tree()

    done = install(house, "claude-code")

    assert done.status == 3
    assert "claude failed with status 1\nno such scope" in done.err
    assert house.tree() == before
    assert path.read_text() == "{}"


MINE = '{"mcpServers": {"notes": {"command": "/usr/bin/mine", "env": {"TOKEN": "precious"}}} }'
HALF = """
path = os.path.expanduser("~/.claude.json")
known = json.load(open(path))
if sys.argv[2] != "remove":
    sys.exit("refused by policy")
del known["mcpServers"][sys.argv[-1]]
known.update({more!r})
json.dump(known, open(path, "w"))
"""


def test_a_replacement_that_fails_half_way_leaves_the_file_as_it_was(house: House) -> None:
    house.put(".claude.json", MINE)
    house.program("claude", HALF.format(more={}))
    before = house.tree()

    done = install(house, "claude-code", "--force")

    assert done.status == 3
    assert "refused by policy\n'notes' is again what it was before" in done.err
    assert house.tree() == before


def test_a_replacement_that_fails_half_way_leaves_what_else_was_written(house: House) -> None:
    path = house.put(".claude.json", MINE)
    house.program("claude", HALF.format(more={"numStartups": 2}))

    done = install(house, "claude-code", "--force")

    assert done.status == 3
    assert json.loads(path.read_text()) == {**json.loads(MINE), "numStartups": 2}


@pytest.mark.parametrize("again", [False, True])
def test_what_a_program_replaced_is_put_back_though_the_file_has_changed(
    house: House, again: bool
) -> None:
    path = play(house, "claude-code")
    path.write_text(MINE)
    install(house, "claude-code", "--force")
    if again:
        install(house, "claude-code", "--force", "--env", "K=v")
    path.write_text(json.dumps({**json.loads(path.read_text()), "numStartups": 2}))

    done = house.run("uninstall", "claude-code", "notes")

    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("claude-code: put back what was there before 'notes' in ")
    assert json.loads(path.read_text()) == {**json.loads(MINE), "numStartups": 2}


def test_what_cannot_be_put_back_is_kept_beside_the_file(house: House) -> None:
    path = house.put(".claude.json", MINE)
    house.program(
        "claude", "open(os.path.expanduser('~/.claude.json'), 'w').write('{'); sys.exit(1)"
    )

    done = install(house, "claude-code", "--force")
    backup = path.with_name(path.name + ".toolhaft.bak")

    assert done.status == 3
    assert str(backup) in done.err
    assert backup.read_text() == MINE
