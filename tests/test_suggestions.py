"""A name that nobody knows, and the one that was probably meant."""

import pytest

from toolhaft.suggestions import near_name, unknown_keyword


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("versoin", "version"),
        ("pageSize", "page_size"),
        ("page-size", "page_size"),
        ("verion", "version"),
        ("color", None),
        ("v" * 1000, None),
    ],
)
def test_a_name_is_near_another_one(name: str, meant: str | None) -> None:
    assert near_name(name, ["title", "version", "page_size"]) == meant


def test_a_keyword_is_named_with_the_one_that_was_meant_and_with_all_others() -> None:
    words = unknown_keyword("run()", "htp", ["http", "path"])

    assert words == "run() knows no 'htp'; did you mean 'http'? it takes http, path"
    assert unknown_keyword("run()", "x", ["http"]) == "run() knows no 'x'; it takes http"
