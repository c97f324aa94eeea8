"""Secrets that an entry names and does not contain."""

from tests.cli.installing.client_files import install
from tests.cli.installing.conftest import House


def test_a_secret_could_be_named_only(house: House) -> None:
    out = install(house, "cursor", "zed", "notes.py", "--env", "API_KEY=1", "--env", "X=2")
    named = install(house, "windsurf", "notes.py", "--env", "API_KEY=${env:API_KEY}")

    assert "--env 'API_KEY=${env:API_KEY}' would name it only" in out
    assert out.count("API_KEY is now") == 1
    assert "API_KEY" not in named
    for value in ("pa$$word", "$API_KEY", "${API_KEY}"):  # which others look up
        out = install(house, "cursor", "notes.py", "--env", f"API_KEY={value}", "--force")
        assert "API_KEY is now" in out
