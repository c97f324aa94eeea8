"""`toolhaft check` and `toolhaft contract`, as processes."""

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import toolhaft, write_server

ROOT = Path(__file__).parents[3]
EXAMPLES = [
    path
    for path in sorted((ROOT / "examples").glob("*.py"))
    if path.name != "try_demo.py"  # which is a client
]
# The conformance suite asks for a tool with just this schema, to see that it is passed on.
_KNOWN = {"everything.py": {("schema-root", "tool json_schema_2020_12_tool")}}
Json = dict[str, Any]


def checked(folder: Path, source: str, *options: str) -> Json:
    """The report on a server."""
    write_server(folder, source)
    done = toolhaft("check", "author.py", "--json", *options, cwd=folder)
    report: Json = json.loads(done.stdout)
    assert done.returncode == (1 if report["found"]["error"] else 0)
    return report


def said(report: Json, *rules: str) -> list[tuple[str, str, str]]:
    return [
        (each["level"], each["where"], each["what"])
        for each in report["findings"]
        if each["rule"] in rules
    ]


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


def test_what_is_printed_at_import_is_found(tmp_path: Path) -> None:
    report = checked(tmp_path, "print('hello')\nos.write(1, b'from below')")

    [(level, where, what)] = said(report, "prints")
    assert (level, where) == ("warning", "start")
    assert "author.py:9: 'hello'" in what


def test_what_is_printed_below_python_is_found_too(tmp_path: Path) -> None:
    report = checked(tmp_path, "os.write(1, b'from below')")

    assert "'from below'" in said(report, "prints")[0][2]


def test_slow_imports_are_named(tmp_path: Path) -> None:
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "__init__.py").write_text("from . import slower")
    (tmp_path / "slow" / "slower.py").write_text("import time\ntime.sleep(1)")

    report = checked(tmp_path, "import slow")

    assert "the slowest imports: slow 1." in said(report, "start")[0][2]


def test_a_lifespan_that_fails_is_found(tmp_path: Path) -> None:
    report = checked(
        tmp_path,
        """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            raise OSError("no database")
            yield

        server = Server("tested", version="1.0.0", lifespan=lifespan)

        @server.tool
        def add(a: int) -> int:
            return a
        """,
    )

    [(level, where, what)] = said(report, "lifespan")
    assert (level, where) == ("error", "server")
    assert what == "no call is answered: the lifespan failed: OSError('no database')"


def test_an_era_that_is_not_answered_is_found(tmp_path: Path) -> None:
    report = checked(
        tmp_path,
        """
        async def refuse(exchange, call):
            if exchange.method == "initialize":
                raise ValueError("no")
            return await call(exchange)

        server = Server("tested", version="1.0.0", middleware=[refuse])
        """,
    )

    assert said(report, "protocol")[0][0] == "error"


@pytest.mark.parametrize(
    ("method", "answer", "told"),
    [
        ("tools/list", {"tool": []}, "tools/list: the server's result has no list 'tools': {"),
        ("tools/list", {"tools": [{}]}, "tools/list: the server sent what is none: Object missing"),
        ("initialize", {}, "initialize: the server's result has no object 'serverInfo': {"),
        ("server/discover", {}, "server/discover: the server's result has no object 'capab"),
        (
            "server/discover",
            {"_meta": None, "capabilities": {}},
            "server/discover: the server's result has no object '_meta': {",
        ),
        (
            "tools/list",
            {"tools": [], "nextCursor": {}},
            "tools/list: the server's nextCursor is no text: {}",
        ),
        ("tools/call", {"content": None}, "tools/call: the server's result has no list 'content'"),
        (
            "tools/call",
            {"content": [{"type": "text"}]},
            "tools/call: the server sent a text block without a text: {'type': 'text'}",
        ),
    ],
)
def test_an_answer_that_is_none_is_named(
    tmp_path: Path, method: str, answer: Json, told: str
) -> None:
    report = checked(
        tmp_path,
        f"""
        async def twist(exchange, call):
            result = await call(exchange)
            twisted = {json.dumps(answer).encode()!r}
            return twisted if exchange.method == {method!r} else result

        server = Server("tested", version="1.0.0", middleware=[twist])
        server.add_tool(lambda: 1, name="one", description="One.", read_only=True)
        """,
        "--call",
    )

    [(level, where, what)] = said(report, "protocol")
    assert (level, where) == ("error", "server")
    assert what.startswith(told)


CALLED = """
    @server.tool(read_only=True, output_schema={"type": "object", "required": ["a"]})
    def right() -> dict[str, int]:
        return {"a": 1}

    @server.tool(read_only=True)
    def fails() -> int:
        raise ToolError("not without a file")

    @server.tool
    def acts() -> int:
        open("acted", "w").close()
        return 1

    @server.tool(read_only=True)
    def needs(a: int) -> int:
        open("acted", "w").close()
        return 1

    @server.resource("a://gone")
    def gone() -> str:
        raise LookupError("gone")

    @server.prompt
    def nothing() -> list[str]:
        return []
"""


def test_calls_are_made_only_if_asked_for(tmp_path: Path) -> None:
    assert said(checked(tmp_path, CALLED), "call", "empty") == []

    report = checked(tmp_path, CALLED, "--call")

    assert [each[:2] for each in said(report, "call", "result", "empty")] == [
        ("error", "resource a://gone"),
        ("warning", "tool fails"),
        ("warning", "prompt nothing"),
    ]
    assert not (tmp_path / "acted").exists()


def test_a_result_that_does_not_fit_is_found(tmp_path: Path) -> None:
    report = checked(
        tmp_path,
        """
        async def twist(exchange, call):
            result = await call(exchange)
            is_call = exchange.method == "tools/call"
            return bytes(result).replace(b'{"x":1}', b'{"x":"1"}') if is_call else result

        server = Server("tested", version="1.0.0", middleware=[twist])

        @server.tool(read_only=True)
        def point() -> dict[str, int]:
            return {"x": 1}
        """,
        "--call",
    )

    [(level, where, what)] = said(report, "result")
    assert (level, where) == ("error", "tool point")
    assert "does not fit its schema: result.x" in what


def test_a_result_that_breaks_its_annotation_is_found(tmp_path: Path) -> None:
    report = checked(
        tmp_path,
        """
        @server.tool(read_only=True)
        def point() -> dict[str, int]:
            return {"x": "one"}
        """,
        "--call",
    )

    [(level, where, what)] = said(report, "result", "call")
    assert (level, where) == ("error", "tool point")
    assert what.startswith("its result does not fit its schema: tool 'point' failed (error ")
    assert what.endswith("expected an integer, got a string")


def test_a_result_may_say_what_failures_say(tmp_path: Path) -> None:
    report = checked(
        tmp_path,
        """
        @server.tool(read_only=True)
        def explain() -> str:
            return "its result is not what it promises"
        """,
        "--call",
    )

    assert said(report, "result", "call") == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("os._exit(3)", "ended the process while it was loaded"),
        ("del server", "has no Server"),
    ],
    ids=["raises", "ends", "nothing"],
)
def test_a_target_that_cannot_be_loaded(tmp_path: Path, source: str, words: str) -> None:
    write_server(tmp_path, source)

    done = toolhaft("check", "author.py", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_target_that_takes_for_ever(tmp_path: Path) -> None:
    write_server(tmp_path, "time.sleep(100)")
    begun = time.monotonic()

    done = toolhaft("check", "author.py", "--timeout", "3", cwd=tmp_path)

    assert done.returncode == 2
    assert "could not be loaded within 3 seconds" in done.stderr
    assert time.monotonic() - begun < 90  # and not for ever


# Contracts


ONE = '@server.tool\ndef one(a: int) -> int:\n    """One."""\n    return a'


def test_a_contract_is_written_compared_and_written_anew(tmp_path: Path) -> None:
    def contract(*options: str) -> tuple[int, str]:
        done = toolhaft("contract", "author.py", "s.lock", *options, cwd=tmp_path)
        return done.returncode, done.stdout

    write_server(tmp_path, ONE)
    assert contract() == (0, "wrote s.lock\n")
    assert contract() == (0, "s.lock: nothing has changed\n")
    assert contract("--check") == (0, "s.lock: nothing has changed\n")

    write_server(tmp_path, ONE.replace("a: int", "a: int, b: int = 1"))
    wider = "s.lock: 1 change, none of them break clients\n\nbreaks nobody:\n"
    assert contract() == (0, f"{wider}  tool one, argument b: is new\n")
    assert contract("--check")[0] == 1

    write_server(tmp_path, ONE.replace("a: int", "a: int, b: int"))
    status, text = contract("--json")
    assert status == 1
    assert json.loads(text) == [
        {"where": "tool one, argument b", "words": "is new, and required", "breaks": True}
    ]
    assert contract("--update") == (0, "wrote s.lock\n")
    assert contract() == (0, "s.lock: nothing has changed\n")


def test_a_contract_that_is_not_there_or_none(tmp_path: Path) -> None:
    write_server(tmp_path, ONE)
    missing = toolhaft("contract", "author.py", "s.lock", "--check", cwd=tmp_path)
    (tmp_path / "s.lock").write_text("{}")
    none = toolhaft("contract", "author.py", "s.lock", cwd=tmp_path)

    assert (missing.returncode, none.returncode) == (2, 2)
    assert "there is no file 's.lock'; write it with --update" in missing.stderr
    assert "s.lock: expected a contract" in none.stderr


@pytest.mark.parametrize("ci", ["1", "true"])
def test_a_pipeline_writes_no_contract_unless_told_to(tmp_path: Path, ci: str) -> None:
    write_server(tmp_path, ONE)
    typo = toolhaft("contract", "author.py", "s.lock", cwd=tmp_path, CI=ci)
    written = (tmp_path / "s.lock").exists()
    told = toolhaft("contract", "author.py", "s.lock", "--update", cwd=tmp_path, CI=ci)
    there = toolhaft("contract", "author.py", "s.lock", cwd=tmp_path, CI=ci)

    assert (typo.returncode, written) == (2, False)
    assert "there is no file 's.lock', and none is written where CI is set" in typo.stderr
    assert (told.returncode, told.stdout) == (0, "wrote s.lock\n")
    assert (there.returncode, there.stdout) == (0, "s.lock: nothing has changed\n")


def test_a_contract_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    write_server(tmp_path, ONE)
    done = toolhaft("contract", "author.py", "nope/s.lock", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == (
        "toolhaft: cannot write 'nope/s.lock': there is no folder 'nope'; make it first\n"
    )


@pytest.mark.parametrize(
    "place",
    ["", "server = Server('tested', version='1', lifespan=begins)"],
    ids=["loaded", "lifespan"],
)
def test_a_server_may_start_a_process_of_its_own(tmp_path: Path, place: str) -> None:
    """Which holds the pipes of the server for as long as it likes."""
    source = f"""
        def begin():
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
            with open("pids", "a") as file:
                file.write(f"{{child.pid}}\\n")

        @contextlib.asynccontextmanager
        async def begins(server):
            begin()
            yield

        {place or "begin()"}
        """
    try:
        report = checked(tmp_path, source, "--timeout", "20")
    finally:
        for pid in (tmp_path / "pids").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)

    assert said(report, "protocol", "lifespan") == []
