"""`toolhaft list`, in a process of its own."""

import json
from pathlib import Path

import pytest
from tests.cli.running import toolhaft, write_server
from tests.cli.servers import ALL

REVISIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


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
