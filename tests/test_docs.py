"""What the pages show is what runs: each example is a file, and its answers are checked here."""

import importlib.util
import inspect
import json
import re
import socket
import subprocess
import sys
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest
from tests.asking import NEW, OLD, outcome
from tests.transports.http.asgi import Client, SessionClient, StatelessClient, lifespan, request
from tests.warm import OURS, warm

from toolhaft import Declined, Depends, Limits, Listener, Server, testing
from toolhaft.testing import SyncClient, in_both_eras, play

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "docs/examples").glob("*.py"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "changelog.d/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
# An example stands under a comment that names its file.
_SHOWN = re.compile(r"^<!-- (\S+) -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(#[^)\s]+)?\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

Json = dict[str, Any]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def page(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


every_page = pytest.mark.parametrize("path", PAGES, ids=name_of)


@every_page
def test_each_example_on_a_page_is_a_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    shown = _SHOWN.findall(text)

    assert len(shown) == len(_PYTHON.findall(text))
    for name, code in shown:
        assert code == (ROOT / name).read_text(encoding="utf-8"), name


def test_each_example_is_on_a_page() -> None:
    shown = {name for path in PAGES for name, _ in _SHOWN.findall(path.read_text("utf-8"))}

    assert {name_of(path) for path in EXAMPLES} <= shown


def anchors(path: Path) -> set[str]:
    headings = _HEADING.findall(path.read_text(encoding="utf-8"))
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {"#" + word.replace(" ", "-") for word in words}


@every_page
def test_each_link_leads_somewhere(path: Path) -> None:
    for target, anchor in _LINK.findall(path.read_text(encoding="utf-8")):
        found = (path.parent / target).resolve() if target else path
        assert found.exists(), target
        if anchor:
            assert anchor in anchors(found), f"{target}{anchor}"


# The examples, by what they answer


def load(name: str) -> ModuleType:
    """A fresh copy of an example."""
    spec = importlib.util.spec_from_file_location(
        f"docs_example_{name}", ROOT / f"docs/examples/{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Asking:
    """Asks one example in revision 2026-07-28."""

    def __init__(self, name: str) -> None:
        self.server = load(name).server

    async def ask(self, method: str, **params: Any) -> Json:
        return await outcome(self.server, method, **params)

    async def call(self, tool: str, **arguments: Any) -> Json:
        return await self.ask("tools/call", name=tool, arguments=arguments)

    async def tool(self, name: str) -> Json:
        [found] = [each for each in (await self.ask("tools/list"))["tools"] if each["name"] == name]
        tool: Json = found
        return tool

    async def text(self, tool: str, **arguments: Any) -> str:
        [block] = (await self.call(tool, **arguments))["content"]
        return str(block["text"])

    async def read(self, uri: str) -> Json:
        return await self.ask("resources/read", uri=uri)

    async def contents(self, uri: str) -> Json:
        [contents] = (await self.read(uri))["contents"]
        found: Json = contents
        return found

    async def prompt(self, prompt: str, **arguments: str) -> list[tuple[str, str]]:
        got = await self.ask("prompts/get", name=prompt, arguments=arguments)
        return [(each["role"], each["content"]["text"]) for each in got["messages"]]


# Where there are several servers, one has to be named.
NAMES = {"http_listener": ":clock"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_serves(path: Path, tmp_path: Path) -> None:
    target = str(path) + NAMES.get(path.stem, "")
    command = warm(OURS, "-m", "toolhaft", "run", target)
    with SyncClient.stdio(command, cwd=tmp_path, timeout=40) as client:
        assert client.revision == "2026-07-28"

    assert client.stderr == ""


async def test_first() -> None:
    assert (await Asking("first").call("add", a=1, b=2))["structuredContent"] == 3


async def test_parameters() -> None:
    shop = Asking("parameters")
    tool = await shop.tool("order")
    right = await shop.text("order", article="A1", to={"street": "Oude Delft 1", "city": "Delft"})
    wrong = await shop.text("order", article="A1", to={"street": "x"}, count=0, colour="red")
    address = {"street": "x", "city": "y", "contry": "BE"}
    near = await shop.text("order", artcle="A1", to=address)

    assert tool["description"] == (
        "Order an article.\n\nThe goods leave the house on the next working day."
    )
    assert tool["inputSchema"] == json.loads(shown_json("docs/parameters.md", "inputSchema"))
    assert right == "1 x A1 to Delft, normal"
    assert_shown("docs/parameters.md", wrong)
    assert_shown("docs/parameters.md", near)


def shown_json(path: str, title: str) -> str:
    """The JSON that a page shows under a comment."""
    found = re.search(rf"<!-- {title} -->\n```json\n(.*?)```", page(path), re.DOTALL)
    assert found is not None
    return found.group(1)


def assert_shown(path: str, text: str) -> None:
    """Does a page show this text, as a block of its own?"""
    assert f"```text\n{text}\n```" in page(path)


async def test_what_cannot_be_a_parameter() -> None:
    def f(*names: str) -> str:
        return " ".join(names)

    with pytest.raises(TypeError) as refused:
        Server("refusing").add_tool(f)

    assert_shown("docs/parameters.md", str(refused.value))


async def test_describing() -> None:
    tool = await Asking("describing").tool("trains")

    assert tool["description"] == (
        "Find trains between two stations.\n\nOnly trains of today are looked at."
    )
    assert {
        name: each["description"] for name, each in tool["inputSchema"]["properties"].items()
    } == {
        "start": "where the journey begins",
        "end": "where it ends; may be the same as the start, for a round trip",
        "changes": "how often to change at most",
    }


async def test_defaults() -> None:
    diary = Asking("defaults")
    before = date.today().isoformat()
    said = [await diary.text("note", text="sun") for _ in range(2)]
    after = date.today().isoformat()

    assert set(said) <= {f"{day} sun ['diary']" for day in (before, after)}
    assert await diary.text("note", text="rain", day="2026-01-31", tags=["wet"]) == (
        "2026-01-31 rain ['wet', 'diary']"
    )
    assert "default" not in (await diary.tool("note"))["inputSchema"]["properties"]["day"]


async def test_shapes() -> None:
    shapes = Asking("shapes")

    assert await shapes.text("draw", shapes=[{"radius": 1}, {"width": 1, "height": 2}]) == (
        "Circle, Box in out.svg"
    )
    assert await shapes.text("draw", shapes=[{"radius": "big"}], into="a/b.svg") == (
        'invalid arguments for draw:\nshapes[0].radius: expected a number, got "big"'
    )


async def test_models() -> None:
    guests = Asking("models")
    lower = await guests.text("invite", guest={"name": "ada"})
    wrong = await guests.text("invite", guest={"name": "A", "seats": 5}, table=0)

    assert (await guests.call("invite", guest={"name": "Ada"}))["structuredContent"] == {
        "name": "Ada",
        "seats": 1,
    }
    assert "a name begins with a capital letter" in lower
    assert wrong.splitlines()[1:] == [
        "guest.name: must have at least 2 characters, got 1",
        "guest.seats: must be at most 4, got 5",
        "table: must be at least 1, got 0",
    ]


@pytest.mark.parametrize("written", [[1, 2], ["1", "2"], "[1, 2]", [1.0, 2]])
async def test_strict(written: Any) -> None:
    lenient = Asking("strict")
    strictly = await lenient.call("add_strictly", numbers=written)

    assert (await lenient.call("add", numbers=written))["structuredContent"] == 3
    assert ("isError" in strictly) == (written != [1, 2] or isinstance(written[0], float))


async def test_schemas() -> None:
    database = Asking("schemas")
    found = await database.call("query", table="books", where={"id": 1})
    wrong = await database.text("query", table="Books", where={})
    count = await database.tool("count")

    assert found["structuredContent"] == {"rows": [{"id": 1}]}
    assert wrong.splitlines()[1:] == [
        'table: must match the pattern ^[a-z]+$, got "Books"',
        "where: must have at least 1 member, got 0",
    ]
    assert count["inputSchema"]["properties"]["table"] == {
        "type": "string",
        "x-mcp-header": "Table",
    }


async def test_callables() -> None:
    callables = Asking("callables")
    square = await callables.tool("square")

    assert [await callables.text("count"), await callables.text("count", by=2)] == ["1", "3"]
    assert await callables.text("about") == "a Counter"
    assert await callables.text("square", base=3) == "9"
    assert list(square["inputSchema"]["properties"]) == ["base"]


async def test_options() -> None:
    listed = await Asking("options").ask("tools/list")
    [tool] = listed["tools"]

    assert listed["ttlMs"] == 60_000
    assert tool["title"] == "Delete files"
    assert tool["annotations"] == {"destructiveHint": True, "idempotentHint": True}
    assert tool["icons"] == [{"src": "https://example.org/bin.png", "mimeType": "image/png"}]
    assert tool["_meta"] == {
        "example.org/owner": "storage",
        "toolhaft/category": "files",
        "toolhaft/tags": ["danger"],
    }


def test_the_table_of_options_is_complete() -> None:
    for path, method in {
        "docs/tools.md": Server.add_tool,
        "docs/resources.md": Server.add_resource,
        "docs/prompts.md": Server.add_prompt,
    }.items():
        shown = [name.strip(" `") for row in rows(path, "Options") for name in row[0].split(",")]
        options = [
            name
            for name, each in inspect.signature(method).parameters.items()
            if each.kind is each.KEYWORD_ONLY
        ]

        assert sorted(shown) == sorted(options), path


async def test_marked() -> None:
    counting = Asking("marked")

    assert await counting.text("count", by=2) == "2"
    assert (await counting.contents("counter://value"))["text"] == "2"
    assert await counting.prompt("ask", goal="5") == [("user", "Call `count` until it says 5.")]


async def test_advanced() -> None:
    crypto = Asking("advanced")

    assert await crypto.text("encode", text="a") == "YQ=="
    assert (await crypto.text("hash", text="a")).startswith("ca978112ca1b")
    assert await crypto.text("hash", text="a", algorithm="md5") == (
        "0cc175b9c0f1b6a831c399e269772661"
    )
    assert (await crypto.call("hash", text="a", algorithm="crc"))["isError"]


async def test_handlers() -> None:
    kitchen = Asking("handlers")
    several = await kitchen.call("cook", dish="menu")
    refused = await kitchen.call("cook", dish="fugu")

    assert await kitchen.text("cook", dish="soup") == "from the pot"
    assert [each["text"] for each in several["content"]] == ["soup", "salad"]
    assert [each["text"] for each in refused["content"]] == ["not today", "and not tomorrow"]
    assert refused["isError"]
    assert await kitchen.text("cook", dish="ice") == "the freezer is broken"
    assert await kitchen.call("cook", dish="") == {"code": -32602, "message": "a dish has a name"}
    assert (await kitchen.call("cook", dish="nothing"))["content"] == []
    assert await kitchen.text("cook", dish="rice") == "rice, freshly made"


async def test_per_caller() -> None:
    projects = Asking("per_caller")
    listed = await projects.ask("tools/list")
    completed = await projects.ask(
        "completion/complete",
        ref={"type": "ref/prompt", "name": "review"},
        argument={"name": "project", "value": "d"},
    )
    template = await projects.ask(
        "completion/complete",
        ref={"type": "ref/resource", "uri": "project://{name}/readme"},
        argument={"name": "name", "value": ""},
    )
    templates = await projects.ask("resources/templates/list")

    assert [each["name"] for each in listed["tools"]] == ["build_demo"]
    assert (listed["cacheScope"], templates["cacheScope"]) == ("private", "public")
    assert await projects.text("build_demo") == "demo is built"
    assert (await projects.call("build_engine"))["code"] == -32602
    assert completed["completion"]["values"] == template["completion"]["values"] == ["demo"]
    assert await projects.prompt("review", project="demo") == [("user", "Review demo.")]
    assert (await projects.contents("project://demo/readme"))["text"] == "# demo"


async def test_explicit() -> None:
    search = Asking("explicit")
    tool = await search.tool("search")

    assert list(tool["inputSchema"]["properties"]) == ["pattern", "mode", "lines", "where"]
    assert tool["inputSchema"]["required"] == ["pattern"]
    assert await search.text("search", pattern="x", lines=[1]) == "x plain [1] None"
    assert (await search.text("search", pattern="x", lines=["a"])).endswith(
        'lines[0]: expected an integer, got "a"'
    )


async def test_discovered() -> None:
    heating = Asking("discovered")

    assert list(heating.server.tools) == ["heat", "status"]
    assert await heating.text("heat", to=40) == "heating to 25"
    assert await heating.text("status") == "25 degrees"


async def test_composed() -> None:
    everything = Asking("composed")

    assert await everything.text("git_log") == "10 commits"
    assert (await everything.contents("git+repo://head"))["text"] == "main"


async def test_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    shop = Asking("metrics")
    await shop.call("price", article="tea")
    await shop.call("price", article="gold")

    assert await shop.text("busy") == "2 asked for a price, 1 in vain"
    shop.server.metrics.show()
    head = capsys.readouterr().out.splitlines()[0]
    shown = [line.split() for line in page("docs/metrics.md").splitlines() if "95 % in" in line]
    assert [head.split()] == shown


async def test_traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bank = Asking("traffic")
    await bank.call("balance", account="7", pin=1234)
    bank.server.traffic.close()

    text = (tmp_path / "traffic.jsonl").read_text()
    assert "1234" not in text
    lines = [json.loads(line) for line in text.splitlines()[-2:]]
    assert [line["direction"] for line in lines] == ["in", "out"]
    example = re.search(r'^\{"time".*$', page("docs/metrics.md"), re.MULTILINE)
    assert example is not None
    assert list(json.loads(example[0])) == list(lines[0])


async def test_messages() -> None:
    assert await load("messages").ping() == "answered: {}"


async def test_handles() -> None:
    changing = Asking("handles")
    said = [await changing.text("teach", word="hello"), await changing.text("hello")]
    await changing.text("quiet", on=True)
    refused = await changing.call("shout", text="a")
    await changing.text("quiet", on=False)

    assert said == ["call hello", "hello"]
    assert await changing.text("teach", word="hello") == "hello is known already"
    assert refused["code"] == -32602
    assert await changing.text("shout", text="a") == "A!"


async def test_generators() -> None:
    steps = Asking("generators")

    assert await steps.text("bake", loaves=2) == "loaf 2 is done"
    assert await steps.text("brew", cups=3) == "cup 3 is full"
    assert (await steps.call("weigh", bags=[1, 2.5]))["structuredContent"] == 3.5


def test_the_progress_of_generators() -> None:
    told: list[Any] = []
    example = ROOT / "docs/examples/generators.py"
    with SyncClient.stdio(["toolhaft", "run", example], timeout=40) as client:
        client.call_raw("weigh", {"bags": [1, 2.5]}, on_progress=lambda *args: told.append(args[2]))

    assert told == ["1.0 kg so far", "3.5 kg so far"]


async def test_bounds() -> None:
    bounds = Asking("bounds")
    late = await bounds.call("ask", question="why")

    assert late["isError"] is True
    assert f"`{late['content'][0]['text']}`" in page("docs/tools.md")
    assert await bounds.text("print_page", page=1) == "printed page 1"


async def test_results() -> None:
    weather = Asking("results")

    assert "structuredContent" not in await weather.call("describe", city="Delft")
    assert (await weather.call("measure", city="Delft"))["structuredContent"] == {
        "degrees": 18.5,
        "sky": "clear over Delft",
    }


async def test_content() -> None:
    radar = Asking("content")
    [drawn] = (await radar.call("draw"))["content"]
    shown = (await radar.call("show", city="Delft"))["content"]
    text, file, link, embedded = (await radar.call("report", city="Delft"))["content"]
    warning = await radar.call("warn", city="Delft")

    assert (drawn["type"], drawn["mimeType"]) == ("image", "image/png")
    assert [block["type"] for block in shown] == ["text", "image"]
    assert text["annotations"] == {"audience": ["user"], "priority": 1}
    assert file["resource"] == {
        "uri": "file:///rain.csv",
        "text": "hour,mm\n9,0.2\n",
        "mimeType": "text/csv",
    }
    assert (link["type"], link["name"]) == ("resource_link", "today")
    assert embedded["resource"]["uri"] == "weather://units"
    assert warning["content"] == [{"type": "text", "text": "Storm over Delft."}]
    assert warning["structuredContent"] == {"level": 3}
    assert warning["_meta"]["example.org/source"] == "radar"


async def test_limits(caplog: pytest.LogCaptureFixture) -> None:
    measure = Asking("limits")
    broken = await measure.call("ratio", a=1, b=0)
    large = await measure.call("dump", lines=100)

    assert broken["isError"] is True
    logged = re.search(r"\): (what it returned .+)$", caplog.text, re.MULTILINE)
    assert logged is not None
    assert_shown("docs/results.md", logged.group(1))
    assert (await measure.call("ratios", a=1, b=0))["structuredContent"] == {
        "ratio": None,
        "of": [0.0],
        "from": "table.csv",
    }
    assert large["isError"] is True
    assert_shown("docs/results.md", large["content"][0]["text"])


async def test_errors(caplog: pytest.LogCaptureFixture) -> None:
    bank = Asking("errors")
    unknown = await bank.call("withdraw", account="x", amount=1)
    too_much = await bank.call("withdraw", account="savings", amount=1000)
    bug = await bank.call("audit")
    told = re.sub(r"\(error \w{8}\)", "(error 5f3a90c1)", bug["content"][0]["text"])

    assert unknown == {"code": -32602, "message": "there is no account 'x'"}
    assert too_much["isError"] is True
    assert too_much["content"][0]["text"] == "only 100 left; ask for less"
    assert bug["isError"] is True
    assert_shown("docs/errors.md", told)
    assert "division by zero" in caplog.text


async def test_refusals() -> None:
    archive = Asking("refusals")

    assert await archive.read("archive://pages/3") == {
        "code": -32602,
        "message": "there is no page 3",
        "data": {"uri": "archive://pages/3"},
    }
    assert await archive.read("archive://pages/2") == {
        "code": 2001,
        "message": "page 2 is being restored",
        "data": {"days": 3},
    }
    assert await archive.ask("prompts/get", name="summary", arguments={"number": "3"}) == {
        "code": -32603,
        "message": "there is no page 3 to write about",
    }
    assert await archive.prompt("summary", number="1") == [
        ("user", "Summarise this: In the beginning")
    ]


async def test_dependencies() -> None:
    library = Asking("dependencies")
    tool = await library.tool("find")
    refused = await library.call("find", word="%")

    assert list(tool["inputSchema"]["properties"]) == ["word"]
    assert (await library.call("find", word="Sea"))["structuredContent"] == ["The Sea"]
    assert refused["isError"] is True
    assert refused["content"][0]["text"] == "one word, please, of letters alone"


async def test_what_nothing_fills() -> None:
    def shelf(wort: str) -> str:
        return wort

    def find(word: str, pattern: Annotated[str, Depends(shelf)]) -> str:
        return word + pattern

    with pytest.raises(TypeError) as refused:
        Server("refusing").add_tool(find)

    assert_shown("docs/dependencies.md", str(refused.value))


async def test_headers() -> None:
    assert await Asking("headers").text("whoami") == "nobody, with 0 headers"


async def test_waiting() -> None:
    jobs = Asking("waiting")

    assert await jobs.text("fetch", pages=3) == "fetched 3 pages for toolhaft.testing"
    assert await jobs.text("crunch", rounds=3) == "crunched 3 rounds"


async def test_threads() -> None:
    threads = Asking("threads")

    assert (await threads.text("on_a_thread")).startswith("toolhaft-tool-")
    assert await threads.text("on_the_loop") == "MainThread"
    assert await threads.text("at_once", a=2, b=3) == "6"


async def test_changing() -> None:
    plugins = Asking("changing")

    async def names() -> list[str]:
        return [tool["name"] for tool in (await plugins.ask("tools/list"))["tools"]]

    before = await names()
    await plugins.call("learn")

    assert before == ["learn", "forget"]
    assert await names() == ["learn", "forget", "shout"]
    assert await plugins.text("shout", text="hi") == "HI"
    await plugins.call("forget")
    assert await names() == before


async def test_resources() -> None:
    library = Asking("resources")
    rules = await library.read("library://rules")
    books = await library.read("library://books")

    assert (rules["ttlMs"], rules["cacheScope"]) == (3_600_000, "private")
    assert rules["contents"][0]["mimeType"] == "text/markdown"
    assert (books["ttlMs"], books["cacheScope"]) == (60_000, "public")
    assert books["contents"][0]["mimeType"] == "application/json"
    assert (await library.contents("library://books/1"))["text"] == "The Sea"
    assert (await library.contents("LIBRARY://books/1"))["uri"] == "LIBRARY://books/1"
    assert (await library.read("library://books/9"))["code"] == -32602
    assert (await library.contents("library://search?limit=1&word=The"))["text"] == "The Sea"
    assert (await library.contents("library://logo"))["blob"] == "R0lGODlh"


async def test_files() -> None:
    files = Asking("files")

    assert "Server" in (await files.contents("source:///first.py"))["text"]
    for climbing in (
        "source:///../tools.md",
        "source:///..%2Ftools.md",
        "source:///x/../../tools.md",
        "source:////etc/hostname",
    ):
        refused = await files.read(climbing)
        assert refused["message"].startswith("resource not found"), climbing
    assert (await files.read("source:///none.py"))["message"] == "there is no file none.py"
    assert (await files.contents("revision://main%2F.."))["text"] == "the changes in main/.."


async def test_contents() -> None:
    albums = Asking("contents")
    text, cover = (await albums.read("album://x"))["contents"]

    assert text == {"uri": "album://x", "text": "# x", "mimeType": "text/markdown"}
    assert (cover["uri"], cover["mimeType"]) == ("album://x/cover", "image/gif")
    assert await albums.contents("album://x/cover") == cover
    assert (await albums.contents("tag://a%20b"))["text"] == "a%20b"


async def test_updates() -> None:
    house = Asking("updates")
    await house.call("turn", state="open")

    assert (await house.contents("house://door"))["text"] == "open"


async def test_prompts() -> None:
    reviewer = Asking("prompts")
    review, interview, _ = (await reviewer.ask("prompts/list"))["prompts"]
    caption = await reviewer.ask("prompts/get", name="caption", arguments={})

    assert review["arguments"] == [
        {"name": "diff", "description": "a unified diff", "required": True},
        {"name": "tone"},
    ]
    assert interview["arguments"] == [
        {"name": "topic", "description": "what to be asked about", "required": True},
        {"name": "questions", "description": "how many"},
    ]
    assert caption["description"] == "A caption in English"
    assert [each["content"]["type"] for each in caption["messages"]] == ["image", "text"]
    assert await reviewer.prompt("review", diff="+x") == [
        ("user", "Review this change in a friendly tone:\n\n+x")
    ]
    assert await reviewer.prompt("interview", topic="bees", questions="5") == [
        ("user", "Ask me 5 questions about bees, one at a time."),
        ("assistant", "Gladly. Here is the first one."),
    ]


@pytest.mark.parametrize(
    ("argument", "typed", "given", "values"),
    [
        ("country", "f", {}, ["France"]),
        ("city", "p", {"country": "Italy"}, ["Padua"]),
        ("city", "p", {}, []),
        ("by", "t", {}, ["train", "tram"]),
    ],
)
async def test_completion(
    argument: str, typed: str, given: dict[str, str], values: list[str]
) -> None:
    found = await Asking("completion").ask(
        "completion/complete",
        ref={"type": "ref/prompt", "name": "plan"},
        argument={"name": argument, "value": typed},
        context={"arguments": given},
    )

    assert found["completion"]["values"] == values


async def test_completion_of_a_template() -> None:
    found = await Asking("completion").ask(
        "completion/complete",
        ref={"type": "ref/resource", "uri": "travel://{country}"},
        argument={"name": "country", "value": "i"},
    )

    assert found["completion"]["values"] == ["Italy"]


async def test_lifespan() -> None:
    assert await Asking("lifespan").text("remember", text="a") == "1"


async def test_middleware(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "timing")

    assert await Asking("middleware").text("add", a=1, b=2) == "3"
    assert "tools/call took" in caplog.text


def test_handling() -> None:
    shown = subprocess.run(
        [sys.executable, str(ROOT / "docs/examples/handling.py")],
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=True,
    )

    assert json.loads(shown.stdout)["result"]["structuredContent"] == 3


def test_sockets() -> None:
    with subprocess.Popen(
        [sys.executable, str(ROOT / "docs/examples/sockets.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # it is ended in the middle of its work
        encoding="utf-8",
    ) as listener:
        assert listener.stdout is not None
        port = int(listener.stdout.readline().split()[-1])
        with socket.create_connection(("127.0.0.1", port), 10) as wire:
            wire.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            answer = wire.makefile("rb").readline()
        listener.terminate()

    assert answer == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


# Over HTTP

ADD = request(1, "tools/call", name="add", arguments={"a": 1, "b": 2})


async def test_http_first() -> None:
    answer = await Client(load("http_first").server.asgi()).post(ADD, accept=None)

    assert answer.status == 200
    assert answer.json == json.loads(shown_json("docs/http.md", "answer"))


@pytest.mark.parametrize("name", ["http_starlette", "http_fastapi", "http_asgi"])
async def test_http_in_another_application(name: str) -> None:
    app = load(name).app
    for revision in (NEW, OLD):
        async with testing.Client.asgi(app, revision=revision) as client:
            assert await client.call("add", a=1, b=2) == 3
    home = await Client(app, "/").request("GET")

    assert (home.status, home.body.strip(b'"')) == (200, b"a page of your own")


async def test_http_starlette_serves_at_exactly_the_path() -> None:
    app = load("http_starlette").app

    assert (await Client(app, "/mcp/").post(ADD)).status == 307


async def test_http_fastapi_has_health() -> None:
    app = load("http_fastapi").app

    assert (await Client(app, "/healthz").request("GET")).json == {"status": "ok"}


async def test_http_asgi_begins_and_ends_with_its_host() -> None:
    async with lifespan(load("http_asgi").app) as started:
        assert started["type"] == "lifespan.startup.complete"


async def test_http_lifespan_is_left_with_its_host() -> None:
    module = load("http_lifespan")
    async with testing.Client.asgi(module.app) as client:
        opened = await client.call("opened")

    assert (opened, module.open_files) == (["ledger"], [])


async def test_http_asking() -> None:
    greeter = load("http_asking").server
    greeted = await in_both_eras(greeter, "greet", answers=["Ada"])
    declined = await in_both_eras(greeter, "greet", answers=[Declined()])

    assert (greeted.text, declined.text) == ("Hello, Ada!", "Hello!")


async def test_http_listener() -> None:
    app = load("http_listener").listener.app
    clock, counter = SessionClient(app, "/clock"), SessionClient(app, "/counter")
    infos = [(await each.shake()).json["result"]["serverInfo"] for each in (clock, counter)]

    assert [info["name"] for info in infos] == ["clock", "counter"]
    assert (clock.session is None, counter.session is None) == (True, False)
    assert (await clock.tool("minutes", hours=2)).text == "120.0"
    assert [(await counter.tool("count")).text for _ in range(3)] == ["1", "2", "3"]
    assert (await StatelessClient(app, "/counter").tool("count")).code == -32022
    assert (await Client(app, "/counter").post(ADD)).status == 400


async def test_http_session() -> None:
    app = load("http_session").server.asgi()
    async with (
        testing.Client.asgi(app, revision=OLD) as first,
        testing.Client.asgi(app, revision=OLD) as second,
        testing.Client.asgi(app, revision=NEW) as third,
    ):
        turned = [
            await first.call_raw("turn", {"book": "Emma", "pages": 3}),
            await first.call_raw("turn"),
            await second.call_raw("turn"),
            await third.call_raw("turn", {"book": "Emma"}),
        ]

    assert [answer.text for answer in turned] == [
        '{"book":"Emma","page":3}',
        '{"book":"Emma","page":4}',
        "say which book",
        "turn needs a session, which begins with `initialize`, and clients of 2026-07-28 have none",
    ]


async def test_http_hang_up() -> None:
    client = SessionClient(load("http_hang_up").server.asgi())
    await client.shake()
    hung_up = await client.tool("report", seconds=0.05)
    [primer] = hung_up.events
    assert primer.id is not None
    rest = await client.listen(last_event_id=primer.id).answer()

    assert (primer.data, primer.retry) == ("", "500")
    assert rest.messages[-1]["result"]["content"][0]["text"] == "42 pages"


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
async def test_http_hang_up_does_nothing_for_others(revision: str) -> None:
    app = load("http_hang_up").server.asgi()
    client: Any = StatelessClient(app)
    if revision != "2026-07-28":
        client = SessionClient(app)
        await client.shake(revision)
    answer = await client.tool("report", seconds=0.05)

    assert not answer.is_stream
    assert answer.text == "42 pages"


async def test_http_guard() -> None:
    guarded = load("http_guard")
    app = guarded.server.asgi(guard=guarded.guard)
    alice = SessionClient(app, authorization="Bearer alice-token")
    await alice.shake()
    bob = SessionClient(app, authorization="Bearer bob-token")
    bob.session = alice.session
    nobody = await Client(app).post({})

    assert (await alice.tool("whoami")).text == "alice"
    assert (await bob.tool("whoami")).status == 404
    newer = StatelessClient(app, authorization="Bearer bob-token")
    assert (await newer.tool("whoami")).text == "bob"
    assert nobody.status == 401
    assert nobody.body.decode() in page("docs/http.md")
    assert f"content-length: {nobody.headers['content-length']}\n" in page("docs/http.md")
    assert f"www-authenticate: {nobody.headers['www-authenticate']}\n" in page("docs/http.md")
    for wrong in ("Bearer carol-token", "Basic alice-token", "alice-token", "Bearer ", "Bearer é"):
        assert (await Client(app, authorization=wrong).post({})).status == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"host": "mcp.example.org"}, 421), ({"origin": "https://app.example.org"}, 403)],
)
async def test_what_a_stranger_is_told(headers: dict[str, str], status: int) -> None:
    refused = await Client(load("http_first").server.asgi(), **headers).post(ADD)

    assert refused.status == status
    assert_shown("docs/http.md", refused.json["error"]["message"])


async def test_asking() -> None:
    pizzeria = load("asking").server
    answers = {"Which size?": "s", "2 pizzas at table 4?": True}
    ordered = await in_both_eras(pizzeria, "order", {"count": 2}, answers=answers)
    declined = await in_both_eras(pizzeria, "order", {"count": 2}, answers=lambda *_: Declined())

    assert ordered.text == "2 pizzas, SMALL, at table 4."
    assert ordered.rounds == 3
    assert declined.text == "Nothing was ordered."


async def test_together() -> None:
    travel = load("together").server
    ann = {"name": "Ann", "age": 33}
    folders = {"roots": [{"uri": "file:///home"}]}
    booked = await in_both_eras(
        travel, "book", answers={"Who travels?": ann, "roots/list": folders}
    )
    compared = await in_both_eras(travel, "compare", answers=lambda *_: "1")
    reserved = await in_both_eras(
        travel, "reserve", answers={"Which seat?": "4A", "Coach?": Declined()}
    )

    assert "name='Ann', age=33, meals='any'" in booked.text
    assert (booked.rounds, compared.rounds, reserved.rounds) == (2, 2, 2)
    assert compared.text == "Accepted(value='1') Accepted(value='1')"
    assert compared.questions[0]["params"]["requestedSchema"]["properties"]["value"]["oneOf"] == [
        {"const": "1", "title": "First class"},
        {"const": "2", "title": "Second class"},
    ]
    assert reserved.text == "4A in coach 1"


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_rounds(revision: str) -> None:
    numbers = iter((3, 5, 7))
    guessed = await play(
        load("rounds").server, "guess", answers=lambda *_: next(numbers), revision=revision
    )

    assert guessed.text == "Right, after 3 tries."


def test_asking_says_first_what_matters_most() -> None:
    first_screen = page("docs/asking.md")[:400]

    assert "Ask first, act after; what has to be done in between is a step." in first_screen


# Tables


def rows(path: str, heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    text = page(path).split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_table_of_limits_is_complete_and_right() -> None:
    units = {"MiB": 1024 * 1024, "s": 1}
    shown = {}
    for name, value, _ in rows("docs/running.md", "Limits"):
        number, _, unit = value.partition(" ")
        shown[name.strip("`")] = float(number.replace(",", "")) * units.get(unit, 1)

    assert shown == {name: getattr(Limits(), name) for name in Limits.__struct_fields__}


async def test_the_table_of_revisions_is_complete() -> None:
    discovered = await Asking("first").ask("server/discover")

    assert [row[0] for row in rows("docs/protocol.md", "Revisions")] == discovered[
        "supportedVersions"
    ]


def test_the_table_of_http_options_is_complete_and_right() -> None:
    shown = {name: default for name, default, _ in rows("docs/http.md", "Several services")}
    parameters = inspect.signature(Listener).parameters
    none = (None, ())
    defaults = {
        f"`{name}`": "" if parameter.default in none else f"`{literal(parameter.default)}`"
        for name, parameter in parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD  # what is refused
    }

    assert shown == defaults


def literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def test_the_table_of_options_of_run_is_complete() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "toolhaft", "run", "--help"],
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=True,
    )
    options = {name for name in re.findall(r"--[a-z-]+", shown.stdout) if name != "--help"}

    assert {row[0].strip("`").split()[0] for row in rows("docs/command-line.md", "run")} == options
