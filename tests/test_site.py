"""The site of the documentation: it is complete, and it can be made."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import toolhaft

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_SHOWN = re.compile(r"^::: toolhaft\.(\w+)$", re.MULTILINE)
_LOADED = re.compile(r'<(?:script|link|img)\b[^>]*(?:src|href)="(https?://[^"]+)"')


def pages(entry: Any) -> Iterator[str]:
    """The pages of a part of the navigation."""
    match entry:
        case str():
            yield entry
        case list():
            for each in entry:
                yield from pages(each)
        case dict():
            for each in entry.values():
                yield from pages(each)


def test_every_page_is_in_the_navigation() -> None:
    settings = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    named = list(pages(settings["project"]["nav"]))

    assert sorted(named) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_every_public_name_is_in_the_reference() -> None:
    texts = [page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md")]
    shown = [name for text in texts for name in _SHOWN.findall(text)]

    assert len(shown) == len(set(shown))
    assert set(toolhaft.__all__) <= set(shown)


def test_the_site_can_be_made(tmp_path: Path) -> None:
    for folder in ("docs", "src"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "zensical.toml", tmp_path)

    made = subprocess.run(
        [str(Path(sys.executable).with_name("zensical")), "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=55,
        check=False,
    )

    assert made.returncode == 0, made.stdout + made.stderr
    server = (tmp_path / "site/reference/server/index.html").read_text(encoding="utf-8")
    assert "add_resource" in server
    assert _LOADED.findall(server) == []
