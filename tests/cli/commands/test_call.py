"""`toolhaft call`, in a process of its own."""

import json
from pathlib import Path

import pytest
from tests.cli.running import toolhaft, write_server
from tests.cli.servers import ALL, FAILING, running

REVISIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


PATIENCE = 20.0


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
