"""What the page and the example show is what happens."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from tests.attaching.fixtures import Bridged
from tests.processes.process import Process

from toolhaft.serve.attachment import AttachOptions

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/attach.md").read_text("utf-8")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Any]:
    """Start a file of the repository."""
    with ExitStack() as stack:

        def start(file: str) -> Process:
            command = [sys.executable, "-W", "error", str(ROOT / file)]
            return stack.enter_context(Process(command, cwd=tmp_path))

        yield start


def test_the_example_of_asyncio(run: Any, bridged: Bridged) -> None:
    run("docs/examples/attach_asyncio.py")
    with bridged("counter", "--wait") as client:
        counts = [client.call("reset") for _ in range(3)]

    assert all(count >= 0 for count in counts)


def test_the_example_of_threads(run: Any, bridged: Bridged) -> None:
    run("docs/examples/attach_threads.py")
    with bridged("painter", "--wait") as client:
        lines = [client.call("paint", colour="red") for _ in range(2)]

    assert lines == [1, 2]


def test_the_example_of_hooks(run: Any, bridged: Bridged) -> None:
    hooked = run("docs/examples/attach_hooks.py")
    second = bridged("hooked")
    with bridged("hooked", "--wait"):
        second.__enter__()
    second.__exit__(None, None, None)
    hooked.wire.wait_for(lambda: hooked.wire.data.count(b"\n") == 4, "four lines")

    assert bytes(hooked.wire.data).split() == b"1 here 2 here 1 here 0 here".split()


@pytest.mark.parametrize(
    ("example", "name"), [("asyncio", "counter"), ("threads", "painter"), ("hooks", "hooked")]
)
def test_ctrl_c_ends_an_example_without_a_traceback(
    run: Any, bridged: Bridged, example: str, name: str
) -> None:
    program = run(f"docs/examples/attach_{example}.py")
    with bridged(name, "--wait") as client:
        client.ping()
        program.signal(signal.SIGINT)

        assert program.ends() == 0
    assert program.stderr == ""


def test_the_living_notebook(run: Any, bridged: Bridged) -> None:
    notebook = run("examples/living_notebook.py")
    with bridged("notebook", "--wait") as client:
        notebook.write(b"from the terminal\n")
        written = client.call("write", text="from the model")
        notebook.wire.wait_for(lambda: b"(model) from the model" in notebook.wire.data, "the page")
        pages = client.call("read")
        status = notebook.end()

    assert written in ("page 1", "page 2")
    assert "from the model" in pages
    assert status == 0
    assert notebook.stderr == ""


def test_the_living_notebook_ends_with_an_interrupt(run: Any) -> None:
    notebook = run("examples/living_notebook.py")
    notebook.wire.wait_for(lambda: b"attached as notebook" in notebook.wire.data, "the start")
    notebook.signal(signal.SIGINT)

    assert notebook.ends() == -signal.SIGINT
    assert "Fatal" not in notebook.stderr


def test_the_living_notebook_is_short() -> None:
    lines = (ROOT / "examples/living_notebook.py").read_text().splitlines()

    assert len([line for line in lines if line.strip()]) <= 30


def test_the_table_of_options_is_complete() -> None:
    table = PAGE.split("`server.attach` takes these:", 1)[1].split("and gives", 1)[0]
    shown = set(
        re.findall(
            r"`(\w+)`(?=[,| ])",
            "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
            + " ",
        )
    )

    assert shown == {"name", *get_type_hints(AttachOptions)}


def test_the_table_of_the_bridge_is_complete() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "toolhaft", "attach", "--help"],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=30,
    )
    options = set(re.findall(r"--[a-z]+", done.stdout)) - {"--help"}
    section = PAGE.split("## The bridge", 1)[1].split("## Security", 1)[0]

    assert options == set(re.findall(r"^\| .*?(--[a-z]+)", section, re.MULTILINE)) | {"--stop"}


def test_the_entry_for_clients_is_json() -> None:
    """L-13."""
    [entry] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)

    counter = json.loads(entry)["mcpServers"]["counter"]
    assert counter["args"] == ["attach", "counter"]
    assert counter["command"].startswith("/")  # an application knows no PATH of its user
