"""`toolhaft clients`: the table, for people and as JSON."""

import json
import subprocess
import sys

from tests.cli.installing.client_files import install
from tests.cli.installing.conftest import SOURCE, House


def test_the_table_of_clients(house: House) -> None:
    install(house, "cursor", "zed", "notes.py")
    house.put(".codex/config.toml", "a = \n")
    install(house, "cursor", "notes.py", "--scope", "project")

    done = house.run("clients")
    rows = {tuple(line.split()[:2]): line for line in done.out.splitlines()}

    assert done.status == 0
    assert len(rows) == 1 + 11 + 1
    assert rows["cursor", "user"].split()[2:] == ["-", f"{house.home}/.cursor/mcp.json", "notes"]
    assert rows["cursor", "project"].endswith("notes")
    assert rows["goose", "user"].split()[2:] == [
        "-",
        f"({house.home}/.config/goose/config.yaml)",
        "-",
    ]
    assert rows["codex", "user"].endswith("broken: Invalid value (at line 1, column 5)")


def test_the_table_as_json(house: House) -> None:
    house.program("codex", "")
    install(house, "goose", "notes.py")

    rows = json.loads(house.run("clients", "--json").out)["clients"]
    known = {(row["client"], row["scope"]): row for row in rows}

    assert len(known) == 19
    assert known["goose", "user"] == {
        "client": "goose",
        "title": "Goose",
        "scope": "user",
        "found": False,
        "by": None,
        "path": f"{house.home}/.config/goose/config.yaml",
        "exists": True,
        "servers": ["notes"],
        "problem": None,
    }
    assert known["codex", "user"]["by"] == f"{house.programs}/codex"
    assert known["zed", "project"]["found"] is False


def test_the_table_loads_nothing_that_changes_files(house: House) -> None:
    heavy = {"difflib", "hashlib", "shlex", "subprocess", "tempfile", "tomllib"}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; from toolhaft.cli import main; main(['clients']); "
            f"print(sorted({heavy!r} & sys.modules.keys()))",
        ],
        env={"HOME": str(house.home), "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )

    assert done.stdout.splitlines()[-1] == "[]"
