"""Text of others is shown without what a terminal obeys, and forges no line of a log."""

import ast
import io
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.running import toolhaft, write_server
from tests.toolhaft_bridge.evil_text import OBEYED, obeyed

from toolhaft.cli.shared.console import as_json
from toolhaft.cli.shared.rendering import (
    messages_text,
    notice,
    paragraph,
    prompt_entry,
    resource_entry,
    shown,
    tool_entry,
)
from toolhaft.process.stderr_log import Drain, StderrHandler
from toolhaft_bridge.display import block, json_text, line, record

SOURCE = Path(__file__).parents[2] / "src"
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\u2066\r\x08\x7f\u2028\ufeff"


@given(st.text(st.characters()) | st.text(st.sampled_from([*OBEYED, "a", "\n", "\t", "\ud800"])))
def test_nothing_that_is_obeyed_is_left(text: str) -> None:
    assert obeyed(line(text)) == obeyed(block(text)) == obeyed(record(text)) == []
    assert "\n" not in line(text)
    assert all(each.startswith("  ") for each in record(text).split("\n")[1:])
    for each in (line(text), block(text), record(text)):
        each.encode()


@given(st.text(st.characters()) | st.text(st.sampled_from([*OBEYED, "\\", '"', "\U000e0041"])))
def test_json_says_the_same_without_it(text: str) -> None:
    written = json_text(json.dumps({text: [text]}, ensure_ascii=False))

    assert obeyed(written) == []
    assert json.loads(written) == {text: [text]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plain äöü 漢字 🏳️‍🌈 x\ty", "plain äöü 漢字 🏳️‍🌈 x\ty"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\u202eb", "a\\u202eb"),
        ("\U000e0041", "\\U000e0041"),
        ("a\r\nb\rc", "a\nb\\rc"),
        ("non\xa0breaking\u3000wide", "non\xa0breaking\u3000wide"),
    ],
)
def test_what_is_left_out_can_be_seen(text: str, told: str) -> None:
    assert block(text) == told


def test_a_line_stays_one() -> None:
    assert line("one\ntwo\r\nthree") == "one\\ntwo\\r\\nthree"


def test_the_further_lines_of_a_record_are_indented() -> None:
    forged = "boom\ntoolhaft: ERROR: forged\n"

    assert record(forged) == "boom\n  toolhaft: ERROR: forged\n  "


def test_no_record_of_ours_can_be_forged_by_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", seen)
    drain = Drain()
    monkeypatch.setattr("toolhaft.process.stderr_log.drain", drain)
    log = logging.Logger("toolhaft.tested")
    log.addHandler(StderrHandler())

    try:
        raise ValueError("boom\ntoolhaft: ERROR: forged\r" + EVIL)
    except ValueError as error:
        error.add_note("and\ntoolhaft: ERROR: forged, too")
        log.exception("a tool failed: %s", "x\ntoolhaft: ERROR: forged as well")
    log.warning("the next")
    drain.flush()

    written = seen.getvalue()
    first = [each for each in written.splitlines() if not each.startswith("  ")]
    assert first == ["toolhaft: ERROR: a tool failed: x", "toolhaft: WARNING: the next"]
    assert "\n  toolhaft: ERROR: forged as well\n" in written
    assert "ValueError: boom" in written
    assert obeyed(written) == []


def test_an_error_in_a_tool_forges_no_line(tmp_path: Path) -> None:
    source = """
        @server.tool
        def look(name: str) -> str:
            raise KeyError(name) if len(name) < 3 else ValueError("no " + name)
    """
    write_server(tmp_path, source)

    done = toolhaft("call", "author.py", "look", "name=x\ntoolhaft: ERROR: forged", cwd=tmp_path)

    assert "forged" in done.stderr
    assert "\ntoolhaft: ERROR: forged" not in done.stderr


def test_whatever_a_server_lists_is_shown_in_its_lines() -> None:
    tool = {"name": EVIL, "title": EVIL, "description": EVIL + "\n" + EVIL, "inputSchema": {
        "properties": {EVIL: {"description": EVIL, "enum": [EVIL], "title": EVIL, "default": EVIL}},
    }}  # fmt: skip
    resource = {"name": EVIL, "uri": "x\n" + EVIL, "mimeType": EVIL, "description": EVIL}
    prompt = {"name": EVIL, "arguments": [{"name": EVIL, "description": EVIL, "values": [EVIL]}]}
    link = {"type": "resource_link", "name": EVIL, "uri": EVIL}

    told = [tool_entry(tool), resource_entry(resource), prompt_entry(prompt), paragraph(EVIL)]
    told += [shown(link), shown({"type": "image", "mimeType": EVIL, "data": "AA=="})]
    told += [messages_text([{"role": EVIL, "content": {"type": "text", "text": "x"}}])]
    told += [str(notice("notifications/message", {"level": EVIL, "logger": EVIL, "data": EVIL}))]
    told += [str(notice("notifications/progress", {"progress": 1, "message": EVIL}))]
    told += [as_json({EVIL: EVIL})]

    assert [obeyed(each) for each in told] == [[]] * len(told)


# Which modules write to a stream of this process. All that they write goes through `display`, or is
# of our own making.
MAY_WRITE = {
    "toolhaft/cli/shared/console.py",
    "toolhaft/cli/__init__.py",  # the version
    "toolhaft/cli/checking/load_probe.py",  # for the process that has started it
    "toolhaft/process/stderr_log.py",
    "toolhaft/process/safe_logging.py",
    "toolhaft/metrics.py",  # a table of the names that the author gave
    "toolhaft/serve/over_stdio.py",
    "toolhaft/serve/over_http.py",
    "toolhaft_bridge/streams.py",
}


def writes(text: str) -> Iterator[str]:
    """Calls that write to stdout or stderr."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            first = ast.unparse(node.args[0]) if node.args else ""
            if (
                called in ("print", "sys.stderr.write", "sys.stdout.write", "traceback.print_exc")
                or called.startswith(("sys.stderr.buffer", "sys.stdout.buffer", "sys.__std"))
                or (called == "os.write" and first in ("1", "2"))
            ):
                yield f"{node.lineno}: {called}"


def test_only_these_modules_write_to_a_terminal() -> None:
    found = {
        name
        for path in sorted(SOURCE.rglob("*.py"))
        if any(writes(path.read_text()))
        for name in [path.relative_to(SOURCE).as_posix()]
    }

    assert found <= MAY_WRITE


@pytest.mark.parametrize(
    "text", ["print(x)", "sys.stderr.write(x)", "os.write(2, x)", "sys.stdout.buffer.write(x)"]
)
def test_a_module_that_writes_is_found(text: str) -> None:
    assert list(writes(text)) != []
