"""`toolhaft check` and `toolhaft contract`, as processes."""

import json
from pathlib import Path

import pytest
from tests.cli.checking.checks import checked
from tests.cli.running import toolhaft, write_server

ROOT = Path(__file__).parents[3]
EXAMPLES = [
    path
    for path in sorted((ROOT / "examples").glob("*.py"))
    if path.name != "try_demo.py"  # which is a client
]
# The conformance suite asks for a tool with just this schema, to see that it is passed on.
_KNOWN = {"everything.py": {("schema-root", "tool json_schema_2020_12_tool")}}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_have_no_errors(path: Path) -> None:
    done = toolhaft("check", str(path), "--json", "--level", "error", cwd=path.parent)
    report = json.loads(done.stdout)

    errors = {(each["rule"], each["where"]) for each in report["findings"]}
    assert errors == _KNOWN.get(path.name, set())


def test_findings_are_for_people(tmp_path: Path) -> None:
    write_server(
        tmp_path,
        """
        @server.tool
        def find(words: list, limit: int) -> str:
            return ""
        """,
    )

    done = toolhaft("check", "author.py", "--level", "warning", cwd=tmp_path)

    lines = [line for line in done.stdout.splitlines() if " start: " not in line]
    assert done.returncode == 1
    assert lines[:9] == [
        "error: tool find: it has no description: a model has only the name to go by",
        "    -> write a docstring",
        "error: tool find, parameter words: a list that does not say of what: VS Code refuses the "
        "tool,",
        "    OpenAI's API the request",
        "    -> say what is in it, as in list[str]",
        "warning: 2 places: it has no description",
        '    -> Annotated[…, "what it is for"], or a line for it in the docstring',
        "    tool find, parameter words",
        "    tool find, parameter limit",
    ]
    assert lines[-1].startswith("author.py: 2 errors, ")
    assert done.stderr == ""


def test_findings_are_for_programs(tmp_path: Path) -> None:
    report = checked(tmp_path, '@server.tool\ndef git() -> str:\n    """Run git."""\n    return ""')

    assert report["target"] == "author.py"
    assert report["server"] == {"name": "tested", "version": "1.0.0"}
    assert report["tools"] == 1
    assert report["tokens"] > 10
    assert report["start_seconds"] > 0
    assert report["found"]["error"] == 0
    assert {"level", "rule", "where", "what"} <= report["findings"][0].keys()
