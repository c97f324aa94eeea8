"""`toolhaft prompt`, in a process of its own."""

import json
from pathlib import Path

import pytest
from tests.cli.running import toolhaft, write_server

REVISIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


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
