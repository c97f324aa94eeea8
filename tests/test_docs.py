"""What the pages show is what runs: each example is a file, and its answers are checked here."""

import importlib.util
import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from toolhaft import Limits

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "docs/examples").glob("*.py"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "changelog.d/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
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
        request = {"jsonrpc": "2.0", "id": 1, "method": method}
        answer = await self.server.handle({**request, "params": {**params, "_meta": ENVELOPE}})
        outcome: Json = answer["result"] if "result" in answer else answer["error"]
        return outcome

    async def call(self, tool: str, **arguments: Any) -> Json:
        return await self.ask("tools/call", name=tool, arguments=arguments)

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


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_serves(path: Path) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "server/discover"}
    line = json.dumps({**request, "params": {"_meta": ENVELOPE}}) + "\n"

    served = subprocess.run(
        [sys.executable, "-m", "toolhaft", "run", str(path)],
        input=line,
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )

    assert (served.returncode, served.stderr) == (0, "")
    [answer] = map(json.loads, served.stdout.splitlines())
    assert answer["result"]["supportedVersions"][0] == "2026-07-28"


async def test_first() -> None:
    assert (await Asking("first").call("add", a=1, b=2))["structuredContent"] == 3


async def test_parameters() -> None:
    shop = Asking("parameters")
    [tool] = (await shop.ask("tools/list"))["tools"]
    right = await shop.text("order", article="A1", to={"street": "Oude Delft 1", "city": "Delft"})
    wrong = await shop.text("order", article="A1", to={"street": "x"}, count=0, colour="red")

    assert tool["title"] == "Place an order"
    assert tool["description"] == "Order an article."
    assert tool["annotations"] == {"destructiveHint": False, "idempotentHint": False}
    assert tool["inputSchema"] == json.loads(shown_json("docs/tools.md", "inputSchema"))
    assert right == "1 x A1 to Delft, normal"
    assert wrong in page("docs/tools.md")


def shown_json(path: str, title: str) -> str:
    """The JSON that a page shows under a comment."""
    found = re.search(rf"<!-- {title} -->\n```json\n(.*?)```", page(path), re.DOTALL)
    assert found is not None
    return found.group(1)


async def test_results() -> None:
    weather = Asking("results")
    draw = await weather.call("draw", city="Delft")

    assert "structuredContent" not in await weather.call("describe", city="Delft")
    assert (await weather.call("measure", city="Delft"))["structuredContent"] == {
        "degrees": 18.5,
        "sky": "clear over Delft",
    }
    assert [block["type"] for block in draw["content"]] == ["text", "image"]


async def test_errors(caplog: pytest.LogCaptureFixture) -> None:
    bank = Asking("errors")
    unknown = await bank.call("withdraw", account="x", amount=1)
    too_much = await bank.call("withdraw", account="savings", amount=1000)
    bug = await bank.call("audit")

    assert unknown == {"code": -32602, "message": "there is no account 'x'"}
    assert too_much["isError"] is True
    assert too_much["content"][0]["text"] == "only 100 left; ask for less"
    assert bug["isError"] is True
    assert "ZeroDivisionError" in bug["content"][0]["text"]
    assert "division by zero" not in bug["content"][0]["text"]
    assert "division by zero" in caplog.text


async def test_waiting() -> None:
    jobs = Asking("waiting")

    assert await jobs.text("fetch", pages=3) == "fetched 3 pages for somebody"
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
    assert (await files.contents("revision://main%2F.."))["text"] == "the changes in main/.."


async def test_updates() -> None:
    house = Asking("updates")
    await house.call("turn", state="open")

    assert (await house.contents("house://door"))["text"] == "open"


async def test_prompts() -> None:
    reviewer = Asking("prompts")
    listed = (await reviewer.ask("prompts/list"))["prompts"][0]

    assert listed["arguments"] == [
        {"name": "diff", "description": "a unified diff", "required": True},
        {"name": "tone"},
    ]
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
