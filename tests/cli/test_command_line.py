"""`toolhaft list`, `call`, `read` and `prompt`, each in a process of its own."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from tests.cli.running import toolhaft, write_server

from toolhaft import __version__

REVISIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
COMMANDS = ["run", "list", "call", "read", "prompt", "check", "contract"]
COMMANDS += ["install", "uninstall", "clients", "attach", "ps", "metrics"]
PATIENCE = 20.0

ALL = """
    @server.tool
    def add(a: int, b: int = 2) -> int:
        \"\"\"Add two numbers.\"\"\"
        return a + b

    @server.resource("notes://all", mime_type="text/plain")
    def notes() -> str:
        return "all of it"

    @server.resource("notes://{name}")
    def note(name: str) -> str:
        \"\"\"One note.\"\"\"
        return name

    @server.prompt
    def review(diff: str, tone: str = "dry") -> str:
        return f"{tone}: {diff}"
"""
# list


def test_everything_is_listed(tmp_path: Path) -> None:
    write_server(tmp_path, ALL)

    done = toolhaft("list", "author.py", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "tools:\n  add(a: int, b: int = 2)\n      Add two numbers.\n\n"
        "resources:\n  notes://all  [text/plain]\n\n"
        "templates:\n  notes://{name}\n      One note.\n\n"
        "prompts:\n  review(diff, tone?)\n"
    )


def test_a_list_is_chosen_by_its_name(tmp_path: Path) -> None:
    write_server(tmp_path, ALL)

    done = toolhaft("list", "author.py", "prompts", "templates", cwd=tmp_path)

    assert done.stdout.splitlines()[0] == "templates:"
    assert "prompts:" in done.stdout
    assert "tools:" not in done.stdout
    assert "resources:" not in done.stdout


def test_an_empty_server_says_so(tmp_path: Path) -> None:
    write_server(tmp_path, "")

    everything = toolhaft("list", "author.py", cwd=tmp_path)
    one = toolhaft("list", "author.py", "tools", cwd=tmp_path)

    assert everything.stdout == "no tools, no resources, no templates, no prompts\n"
    assert one.stdout == "no tools\n"
    assert everything.returncode == one.returncode == 0


def test_a_list_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    write_server(tmp_path, ALL)

    done = toolhaft("list", "author.py", "toys", cwd=tmp_path)

    assert done.returncode == 2
    assert "'toys' is none of tools, resources, templates, prompts" in done.stderr


@pytest.mark.parametrize("revision", REVISIONS)
def test_lists_as_json_hold_every_page_in_every_revision(tmp_path: Path, revision: str) -> None:
    source = """
        server = Server("paged", version="1.0.0", page_size=2)
        for n in range(5):
            server.add_tool(lambda: None, name=f"tool{n}", description="One of five.")
            server.add_resource(lambda: "", f"notes://{n}", name=f"note{n}")
    """
    write_server(tmp_path, source)

    done = toolhaft("list", "author.py", "--json", "--revision", revision, cwd=tmp_path)
    listed = json.loads(done.stdout)

    assert list(listed) == ["tools", "resources", "resourceTemplates", "prompts"]
    assert [tool["name"] for tool in listed["tools"]] == [f"tool{n}" for n in range(5)]
    assert listed["tools"][0]["inputSchema"]["type"] == "object"
    assert [each["uri"] for each in listed["resources"]] == [f"notes://{n}" for n in range(5)]
    assert listed["resourceTemplates"] == listed["prompts"] == []
    assert (done.returncode, done.stderr) == (0, "")


SUGGESTING = """
    from typing import Annotated, Literal
    from toolhaft import Complete

    def fail(text: str) -> list[str]:
        raise ValueError("no such table")

    async def wait(text: str) -> list[str]:
        await asyncio.sleep(60)
        return []

    @server.prompt
    def plan(
        city: Annotated[str, Complete(fail)],
        day: Annotated[str, Complete(wait)],
        by: Literal["train", "boat"] = "train",
    ) -> str:
        \"\"\"Plan a journey.

        Args:
            city: where to
        \"\"\"
        return f"{city} {day} {by}"
"""


def test_values_of_prompts_are_those_that_completers_suggest(tmp_path: Path) -> None:
    write_server(tmp_path, SUGGESTING)

    done = toolhaft("list", "author.py", cwd=tmp_path)
    tools = toolhaft("list", "author.py", "tools", cwd=tmp_path)
    as_json = toolhaft("list", "author.py", "--json", cwd=tmp_path)

    assert done.returncode == 0
    assert done.stdout == (
        "prompts:\n  plan(city, day, by?)\n      Plan a journey.\n"
        '      city: where to\n      by: "train" | "boat"\n'
    )
    assert (tools.stdout, tools.stderr) == ("no tools\n", "")
    assert json.loads(as_json.stdout)["prompts"][0]["arguments"][2] == {"name": "by"}


# call


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_tool_is_called_in_every_revision(tmp_path: Path, revision: str) -> None:
    source = """
        @server.tool
        async def report(count: int, ctx: Context) -> str:
            await ctx.progress(1, count, "begun")
            await ctx.log("debug", {"count": count})
            await ctx.log("info", "done", logger="work")
            return f"{ctx.client.name} {ctx.client.revision}"
    """
    write_server(tmp_path, source)

    done = toolhaft("call", "author.py", "report", "count=3", "--revision", revision, cwd=tmp_path)

    begun = "progress 1/3" if revision == "2024-11-05" else "progress 1/3 begun"
    assert (done.returncode, done.stdout) == (0, f"toolhaft {revision}\n")
    assert done.stderr == f'{begun}\ndebug: {{"count": 3}}\ninfo: work: done\n'


def test_progress_of_a_plain_function_arrives_before_its_end(tmp_path: Path) -> None:
    source = """
        @server.tool
        def wait(ctx: Context) -> str:
            ctx.sync.progress(1)
            while not os.path.exists("seen"):
                time.sleep(0.01)
            return "seen"
    """
    write_server(tmp_path, source)

    with running("call", "author.py", "wait", cwd=tmp_path) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        (tmp_path / "seen").touch()
        out, _ = process.communicate(timeout=PATIENCE)

    assert (first, out) == ("progress 1\n", "seen\n")


def test_arguments_are_read_by_the_schema_of_the_tool(tmp_path: Path) -> None:
    source = """
        @server.tool
        def show(text: str, count: int, names: list[str], rest: Any = None) -> str:
            return repr((text, count, names, rest))
    """
    write_server(tmp_path, source)
    (tmp_path / "rest.json").write_text('{"a": null}')
    (tmp_path / "text").write_text("from\na file")

    words = ["text=@text", "count=5", "names=a", "--timeout", "20", "names=b", "rest:=@rest.json"]
    done = toolhaft("call", "author.py", "show", *words, cwd=tmp_path)

    assert done.stdout == "('from\\na file', 5, ['a', 'b'], {'a': None})\n"
    assert done.stderr == ""


def test_arguments_may_come_as_json(tmp_path: Path) -> None:
    write_server(tmp_path, ALL)

    piped = toolhaft("call", "author.py", "add", "-", cwd=tmp_path, stdin='{"a": 1, "b": 5}')
    given = toolhaft("call", "author.py", "add", '{"a": 1}', "b=3", cwd=tmp_path)

    assert (piped.returncode, piped.stdout) == (0, "6\n")
    assert (given.returncode, given.stdout) == (0, "4\n")


def test_a_tool_with_a_lifespan_runs_within_it(tmp_path: Path) -> None:
    source = """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            os.write(2, b"entered\\n")
            yield 5
            os.write(2, b"left\\n")

        server = Server("tested", version="1.0.0", lifespan=lifespan)

        @server.tool
        def value(ctx: Context) -> int:
            os.write(2, b"called\\n")
            return ctx.lifespan
    """
    write_server(tmp_path, source)

    done = toolhaft("call", "author.py", "value", cwd=tmp_path)

    assert (done.stdout, done.stderr) == ("5\n", "entered\ncalled\nleft\n")


BLOCKS = """
    @server.tool
    def blocks() -> list[Content]:
        return [
            TextContent("a radar:"),
            ImageContent(b"\\x00\\xff\\x00", "image/png"),
            AudioContent(b"12345", "audio/wav"),
            ResourceLink("notes://all", "notes"),
            EmbeddedResource(BlobContents("notes://blob", b"12")),
        ]
"""


def test_bytes_are_only_mentioned(tmp_path: Path) -> None:
    write_server(tmp_path, BLOCKS)

    done = toolhaft("call", "author.py", "blocks", cwd=tmp_path)

    assert done.stdout == (
        "a radar:\n[image/png, 3 bytes]\n[audio/wav, 5 bytes]\nnotes <notes://all>\n"
        "[application/octet-stream, 2 bytes]\n"
    )


def test_the_first_bytes_go_to_a_file_and_the_rest_is_shown(tmp_path: Path) -> None:
    write_server(tmp_path, BLOCKS)

    done = toolhaft("call", "author.py", "blocks", "-o", "radar.png", cwd=tmp_path)

    assert (tmp_path / "radar.png").read_bytes() == b"\x00\xff\x00"
    assert done.stdout.startswith("a radar:\n[audio/wav, 5 bytes]\n")


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_text_goes_to_a_file_if_there_are_no_bytes(tmp_path: Path, more: list[str]) -> None:
    write_server(tmp_path, ALL)

    done = toolhaft("call", "author.py", "add", "a=1", "-o", "sum", *more, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, "")
    written = (tmp_path / "sum").read_text()
    assert json.loads(written)["structuredContent"] == 3 if more else written == "3\n"


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    write_server(tmp_path, ALL)

    done = toolhaft("call", "author.py", "add", "a=1", "-o", "no/where", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == (
        "toolhaft: cannot write 'no/where': there is no folder 'no'; make it first\n"
    )


def test_the_whole_result_is_printed_as_json(tmp_path: Path) -> None:
    write_server(tmp_path, ALL)

    done = toolhaft("call", "author.py", "add", "a=1", "--json", cwd=tmp_path)

    result = json.loads(done.stdout)
    assert result["content"] == [{"type": "text", "text": "3"}]
    assert result["structuredContent"] == 3


def test_what_the_author_prints_does_not_mix_with_the_answer(tmp_path: Path) -> None:
    source = """
        print("while importing")
        subprocess.run(["echo", "by a child"])

        @server.tool
        def noisy() -> int:
            print("while called")
            os.write(1, b"past python\\n")
            sys.stdout.buffer.write(b"as bytes\\n")
            return 5
    """
    write_server(tmp_path, source)

    done = toolhaft("call", "author.py", "noisy", "--json", cwd=tmp_path)

    assert json.loads(done.stdout)["structuredContent"] == 5
    assert sorted(done.stderr.splitlines()) == [
        "as bytes",
        "by a child",
        "past python",
        "while called",
        "while importing",
    ]


def test_stdin_belongs_to_the_command(tmp_path: Path) -> None:
    source = """
        @server.tool
        def ask(title: str) -> str:
            return title + repr(sys.stdin.read())
    """
    write_server(tmp_path, source)

    done = toolhaft("call", "author.py", "ask", "-", cwd=tmp_path, stdin='{"title": "x"}')

    assert done.stdout == "x''\n"


# What goes wrong


FAILING = """
    from toolhaft import InvalidParams

    @server.tool
    def fail(how: str) -> str:
        if how == "tool":
            raise ToolError("ask for less")
        if how == "params":
            raise InvalidParams("there is no such account")
        return str(1 / 0)
"""


def test_a_tool_error_is_on_stderr(tmp_path: Path) -> None:
    write_server(tmp_path, FAILING)

    done = toolhaft("call", "author.py", "fail", "how=tool", "-o", "file", cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (5, "", "ask for less\n")
    assert not (tmp_path / "file").exists()


def test_a_tool_error_as_json_is_on_stdout(tmp_path: Path) -> None:
    write_server(tmp_path, FAILING)

    done = toolhaft("call", "author.py", "fail", "how=tool", "--json", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (5, "")
    assert json.loads(done.stdout)["isError"] is True


def test_a_bug_is_shown_with_its_traceback(tmp_path: Path) -> None:
    write_server(tmp_path, FAILING)

    done = toolhaft("call", "author.py", "fail", "how=bug", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (5, "")
    assert "ZeroDivisionError: division by zero\n" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("tool 'fail' failed: ZeroDivisionError")


@pytest.mark.parametrize("revision", [REVISIONS[0], REVISIONS[1]])
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["call", "fail", "how=params"], "there is no such account"),
        (["call", "fial", "how=params"], "unknown tool: 'fial'; there are fail"),
        (["call", "fial"], "unknown tool: 'fial'; there are fail"),
        (["read", "notes://nothing"], "this server offers no resources"),
        (["prompt", "nothing"], "this server offers no prompts"),
    ],
)
def test_what_the_server_refuses_is_told(
    tmp_path: Path, arguments: list[str], told: str, revision: str
) -> None:
    write_server(tmp_path, FAILING)
    command, *rest = arguments

    done = toolhaft(command, "author.py", *rest, "--revision", revision, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == f"toolhaft: {told}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["call", "author.py", "fail", "how"], "toolhaft: 'how' is no argument"),
        (["call", "author.py", "fail", "how=@nowhere"], "toolhaft: how: 'nowhere': No such file"),
        (["call", "author.py", "fail", "-"], "toolhaft: stdin: expected a JSON object of all"),
        (["list", "nowhere.py"], "toolhaft: there is no file 'nowhere.py'"),
        (["list", "nowhere"], "toolhaft: there is no module 'nowhere'"),
        (
            ["list", "http://localhost:x/mcp"],
            "toolhaft: 'http://localhost:x/mcp' is no URL of a se",
        ),
        (["list", "ftp://localhost"], "toolhaft: 'ftp://localhost' is a URL of no kind we know"),
        (["list", "author.py", "--header", "a: b"], "toolhaft: --header is for servers at a URL"),
        (["list", "author.py", "--header", "a"], "usage: toolhaft list "),
        (["list", "http://localhost/mcp", "--header", "a: b\r\nc: d"], "usage: toolhaft list "),
        (["run", "stdio://x"], "toolhaft: 'stdio://x' is a URL; a target must be a file or a mod"),
        (["call", "author.py"], "toolhaft: say which tool: fail"),
        (["call", "author.py", "--json"], "toolhaft: say which tool: fail"),
        (["list", "author.py", "--revision", "1999"], "usage: toolhaft list "),
        (["list", "author.py", "--timeout", "0"], "usage: toolhaft list "),
        (["list", "author.py", "--timeout", "soon"], "usage: toolhaft list "),
        (["list", "author.py", "-x"], "usage: toolhaft list "),
        (["lost", "author.py"], "usage: toolhaft "),
        (["--json", "list", "author.py"], "usage: toolhaft "),
    ],
)
def test_a_wrong_command_line_is_refused(tmp_path: Path, arguments: list[str], told: str) -> None:
    write_server(tmp_path, FAILING)

    done = toolhaft(*arguments, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(told)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (["run"], "TARGET"),
        (["list"], "TARGET"),
        (["call"], "TARGET"),
        (["read", "author.py"], "URI"),
        (["prompt", "author.py"], "NAME"),
    ],
)
def test_only_what_is_required_is_said_to_be(
    tmp_path: Path, words: list[str], missing: str
) -> None:
    done = toolhaft(*words, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.endswith(f"error: the following arguments are required: {missing}\n")


def test_help_names_no_exit_status_that_cannot_be(tmp_path: Path) -> None:
    install = toolhaft("install", "--help", cwd=tmp_path).stdout
    uninstall = toolhaft("uninstall", "--help", cwd=tmp_path).stdout

    assert "4 the\nserver does not answer" in install
    assert "exit status: 0 done, 2 wrong" in uninstall
    assert "does not answer" not in uninstall


@pytest.mark.parametrize(("option", "name"), [("--a", "a"), ("--how=x", "how"), ("--ho-w", "ho-w")])
def test_an_argument_with_dashes_is_told_that_it_has_none(
    tmp_path: Path, option: str, name: str
) -> None:
    write_server(tmp_path, FAILING)

    done = toolhaft("call", "author.py", "fail", option, "1", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.endswith(f"; arguments are written without dashes, as in {name}=…\n")


def test_an_argument_that_is_not_utf_8_is_refused_by_the_server(tmp_path: Path) -> None:
    write_server(tmp_path, FAILING)

    done = toolhaft("call", "author.py", "fail", "how=\udcff", cwd=tmp_path)

    assert done.returncode == 4
    assert done.stderr.startswith("toolhaft: not JSON: not UTF-8")


def test_a_lifespan_that_fails_ends_the_command(tmp_path: Path) -> None:
    source = """
        @contextlib.asynccontextmanager
        async def lifespan(server):
            raise OSError("no database")
            yield

        server = Server("tested", version="1.0.0", lifespan=lifespan)

        @server.tool
        def value() -> int:
            return 5
    """
    write_server(tmp_path, source)

    done = toolhaft("call", "author.py", "value", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert "OSError: no database" in done.stderr


# What takes long


def running(*arguments: str, cwd: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "toolhaft", *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


SLOW = """
    @server.tool
    async def waits() -> None:
        os.write(2, b"begun\\n")
        try:
            await asyncio.sleep(60)
        finally:
            os.write(2, b"cancelled\\n")

    @server.tool
    async def holds_up() -> None:
        os.write(2, b"begun\\n")
        time.sleep(60)

    @server.tool
    def blocks(ctx: Context) -> None:
        os.write(2, b"begun\\n")
        while not ctx.cancelled:
            time.sleep(0.01)
        os.write(2, b"cancelled\\n")

    @server.tool
    async def never_lets_go() -> None:
        os.write(2, b"begun\\n")
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
"""


@pytest.mark.parametrize(
    ("tool", "told"),
    [("waits", "cancelled\n"), ("blocks", "cancelled\n"), ("holds_up", ""), ("never_lets_go", "")],
)
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
def test_a_signal_cancels_the_call(
    tmp_path: Path, tool: str, told: str, number: signal.Signals, status: int
) -> None:
    write_server(tmp_path, SLOW)

    with running("call", "author.py", tool, cwd=tmp_path) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        started = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)

    assert process.returncode == status
    assert (out, "Traceback" in err) == ("", False)
    assert err.startswith(told)
    assert time.monotonic() - started < 10


def test_a_second_signal_ends_the_process(tmp_path: Path) -> None:
    source = """
        server = Server("tested", version="1.0.0", limits=Limits(shutdown_seconds=600))

        @server.tool
        async def holds_up() -> None:
            os.write(2, b"begun\\n")
            while True:
                time.sleep(60)
    """
    write_server(tmp_path, source)

    with running("call", "author.py", "holds_up", cwd=tmp_path) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)

    assert process.returncode == 130


def test_a_signal_while_the_file_is_imported_ends_the_command(tmp_path: Path) -> None:
    write_server(tmp_path, 'os.write(2, b"importing\\n")\ntime.sleep(60)\n')

    with running("list", "author.py", cwd=tmp_path) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)

    assert (process.returncode, out, err) == (130, "", "")


@pytest.mark.parametrize("tool", ["waits", "blocks", "holds_up", "never_lets_go"])
def test_a_call_that_takes_too_long_is_cancelled(tmp_path: Path, tool: str) -> None:
    write_server(tmp_path, SLOW)

    done = toolhaft("call", "author.py", tool, "--timeout", "0.2", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert "toolhaft: no answer within 0.2 seconds; the request was cancelled\n" in done.stderr
    assert ("cancelled\n" in done.stderr.splitlines(keepends=True)) is (tool in ("waits", "blocks"))
    assert "Traceback" not in done.stderr


def test_nobody_who_reads_is_no_reason_for_a_traceback(tmp_path: Path) -> None:
    write_server(tmp_path, 'while not os.path.exists("closed"):\n    time.sleep(0.01)\n')

    with running("list", "author.py", cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        (tmp_path / "closed").touch()
        err = process.stderr.read()
        process.wait(PATIENCE)

    assert (process.returncode, err) == (141, "")


# read and prompt


READABLE = """
    @server.resource("notes://text")
    def text() -> str:
        return "no end of line"

    @server.resource("notes://bytes", mime_type="image/gif")
    def bytes_() -> bytes:
        return b"GIF\\x00\\xff"

    @server.resource("notes://both")
    def both() -> list[Any]:
        return [b"\\xff", "one", "two\\n"]
"""


@pytest.mark.parametrize("revision", [REVISIONS[0], REVISIONS[-1]])
@pytest.mark.parametrize(
    ("uri", "data"),
    [
        ("notes://text", b"no end of line"),
        ("notes://bytes", b"GIF\x00\xff"),
        ("notes://both", b"\xffone\ntwo\n"),
    ],
)
def test_a_resource_is_written_byte_for_byte(
    tmp_path: Path, uri: str, data: bytes, revision: str
) -> None:
    write_server(tmp_path, READABLE)
    command = [sys.executable, "-m", "toolhaft", "read", "author.py", uri, "--revision", revision]

    piped = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=30, check=True)
    saved = subprocess.run(
        [*command, "-o", "file"], cwd=tmp_path, capture_output=True, timeout=30, check=True
    )

    assert (piped.stdout, piped.stderr) == (data, b"")
    assert (saved.stdout, saved.stderr) == (b"", b"")
    assert (tmp_path / "file").read_bytes() == data


@pytest.mark.parametrize(
    ("uri", "out", "err"),
    [
        ("notes://text", "no end of line\r\n", ""),
        ("notes://bytes", "", "[image/gif, 5 bytes]; -o FILE writes them to a file\n"),
    ],
)
def test_a_terminal_gets_lines_and_no_bytes(tmp_path: Path, uri: str, out: str, err: str) -> None:
    write_server(tmp_path, READABLE)
    ours, theirs = pty.openpty()

    done = subprocess.run(
        [sys.executable, "-m", "toolhaft", "read", "author.py", uri],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=30,
        check=True,
    )
    os.write(theirs, b"end")
    shown = b""
    while not shown.endswith(b"end"):
        shown += os.read(ours, 1000)
    os.close(ours)
    os.close(theirs)

    assert (shown.decode(), done.stderr) == (f"{out}end", err)


def test_a_resource_as_json(tmp_path: Path) -> None:
    write_server(tmp_path, READABLE)

    done = toolhaft("read", "author.py", "notes://bytes", "--json", cwd=tmp_path)

    [contents] = json.loads(done.stdout)["contents"]
    assert contents == {"uri": "notes://bytes", "blob": "R0lGAP8=", "mimeType": "image/gif"}


@pytest.mark.parametrize("revision", [REVISIONS[0], REVISIONS[-1]])
def test_a_resource_that_is_not_there_is_refused(tmp_path: Path, revision: str) -> None:
    write_server(tmp_path, READABLE)

    done = toolhaft("read", "author.py", "notes://x", "--revision", revision, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("toolhaft: resource not found: 'notes://x'; there are notes://")


PROMPTS = """
    @server.prompt
    def talk(topic: str, count: int = 3) -> list[Any]:
        return [user(f"{count} questions about {topic}"), assistant("Here they are.")]
"""


@pytest.mark.parametrize("revision", [REVISIONS[0], REVISIONS[-1]])
def test_a_prompt_is_shown_as_messages(tmp_path: Path, revision: str) -> None:
    write_server(tmp_path, PROMPTS)
    (tmp_path / "topic").write_text("bees")
    words = ["topic=@topic", "count=5", "--revision", revision]

    done = toolhaft("prompt", "author.py", "talk", *words, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "user:\n5 questions about bees\n\nassistant:\nHere they are.\n"


def test_arguments_of_a_prompt_may_be_written_as_json_and_as_lists(tmp_path: Path) -> None:
    source = """
        @server.prompt
        def show(count: int, names: list[str], numbers: list[int], text: str) -> str:
            return repr((count, names, numbers, text))
    """
    write_server(tmp_path, source)
    words = ["count:=3", "names=a", "names=b", "numbers=1", "numbers=2", 'text:="@me"']

    done = toolhaft("prompt", "author.py", "show", *words, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "user:\n(3, ['a', 'b'], [1, 2], '@me')\n"


def test_a_prompt_as_json(tmp_path: Path) -> None:
    write_server(tmp_path, PROMPTS)

    done = toolhaft("prompt", "author.py", "talk", "topic=5", "--json", cwd=tmp_path)

    assert [message["role"] for message in json.loads(done.stdout)["messages"]] == [
        "user",
        "assistant",
    ]


@pytest.mark.parametrize("words", [["--json"], ["topic=a", "count=many"]])
def test_a_prompt_with_wrong_arguments_is_refused(tmp_path: Path, words: list[str]) -> None:
    write_server(tmp_path, PROMPTS)

    done = toolhaft("prompt", "author.py", "talk", *words, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("toolhaft: ")


# Help


def test_help_names_every_command(tmp_path: Path) -> None:
    done = toolhaft("--help", cwd=tmp_path)

    assert done.returncode == 0
    assert re.findall(r"^    (\S+)", done.stdout, re.MULTILINE) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_an_example(tmp_path: Path, command: str) -> None:
    done = toolhaft(command, "--help", cwd=tmp_path)

    assert done.returncode == 0
    assert f"example:\n  toolhaft {command}" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_loads_nothing_that_is_slow(tmp_path: Path, command: str) -> None:
    program = (
        "import sys, atexit\n"
        "from toolhaft.cli import main\n"
        "slow = {'asyncio', 'importlib.metadata', 'toolhaft.serve.over_stdio', 'ssl'}\n"
        "atexit.register(lambda: print(slow & set(sys.modules), file=sys.stderr))\n"
        f"main([{command!r}, '--help'])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, timeout=30, check=True
    )

    assert done.stdout.startswith(b"usage: toolhaft ")
    assert done.stderr == b"set()\n"


# Over HTTP


def test_what_is_said_of_http_is_refused_over_stdio(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text('from toolhaft import Server\nserver = Server("s")\n')

    done = toolhaft("run", str(file), "--workers", "2", "--allow-host", "a.example", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == (
        "toolhaft: --workers and --allow-host: only over HTTP; say where, as in "
        "--http 127.0.0.1:8000\n"
    )


LISTENER = """\
import sys
from toolhaft import Listener, Server

server = Server("s")
listener = Listener("127.0.0.1:0", {"/s": server})
print("printed")
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_listener_is_run_as_it_is(tmp_path: Path, workers: str) -> None:
    file = tmp_path / "server.py"
    file.write_text(LISTENER)
    command = [sys.executable, "-m", "toolhaft", "run", f"{file}:listener", "--workers", workers]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        where = next(line for line in lines if "serving at" in line)
        url = where.split()[3].removesuffix("/s") + "/healthz"
        with urllib.request.urlopen(url, timeout=10) as answer:
            status = answer.status
        process.send_signal(signal.SIGTERM)
        process.wait(15)

    assert (status, process.returncode) == (200, 0)


def test_a_listener_is_no_server_to_call(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(LISTENER)

    done = toolhaft("list", f"{file}:listener", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.endswith("is a Listener, which can only be run; name one of its servers\n")


def test_a_listener_says_itself_where_it_listens(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    file.write_text(LISTENER)

    done = toolhaft("run", f"{file}:listener", "--http", "127.0.0.1:0", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.endswith("is a Listener, and says itself where it listens\n")


def test_instructions_are_listed_first(tmp_path: Path) -> None:
    source = """
        server = Server("tested", version="1", instructions="Ask first.\\nThen act.")

        @server.tool(title="Do it", read_only=True)
        def do() -> str: ...
    """
    write_server(tmp_path, source)

    text = toolhaft("list", "author.py", cwd=tmp_path)
    one = toolhaft("list", "author.py", "tools", cwd=tmp_path)
    data = toolhaft("list", "author.py", "--json", cwd=tmp_path)

    assert text.stdout.startswith("instructions:\n  Ask first.\n  Then act.\n\ntools:\n")
    assert "  do()\n      title: Do it\n      hints: read-only" in text.stdout
    assert one.stdout.startswith("tools:\n")
    assert json.loads(data.stdout)["instructions"] == "Ask first.\nThen act."


# Which release it is


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_a_server_is_told_the_release_of_the_command(tmp_path: Path, revision: str) -> None:
    write_server(
        tmp_path,
        """
        @server.tool
        def release(ctx: Context) -> str:
            return f"{ctx.client.name} {ctx.client.version}"
        """,
    )

    done = toolhaft("call", "author.py", "release", "--revision", revision, cwd=tmp_path)

    assert (done.stderr, done.stdout) == ("", f"toolhaft {__version__}\n")
