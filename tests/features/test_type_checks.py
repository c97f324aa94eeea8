"""URIs, icons and keys of `_meta`: what clients would refuse is refused where it is given."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft import Embedded, File, Icon, Link, Listener, Result, Server, Text
from toolhaft.features.type_checks import valid_meta, written_uri
from toolhaft.testing import Client
from toolhaft.types.content import TextContent
from toolhaft.types.tools import CallToolResult


@pytest.mark.parametrize(
    ("uri", "correct"),
    [
        ("x://a b", "x://a%20b"),
        ("x://a\nb", "x://a%0Ab"),
        ("x://a\n", "x://a%0A"),
        ("x://ü", "x://%C3%BC"),
        ("x://a%zz", "x://a%25zz"),
        ('x://"a"', "x://%22a%22"),
        ("x://a\\b|c^d`e<f>", "x://a%5Cb%7Cc%5Ed%60e%3Cf%3E"),
    ],
)
def test_a_resource_whose_uri_is_none_is_refused_with_the_right_one(uri: str, correct: str) -> None:
    with pytest.raises(ValueError, match="is no URI") as refused:
        Server("s").add_resource(lambda: "", uri, name="r")

    assert str(refused.value).endswith(f"write {correct!r}")
    Server("s").add_resource(lambda: "", correct, name="r")


@pytest.mark.parametrize(
    "uri", ["x:a", "file:///a/b.txt", "x://[::1]:8/a;b=c?d=%20#e", "urn:a:b'()*"]
)
def test_a_uri_is_taken_as_it_is(uri: str) -> None:
    assert written_uri("x", uri) == uri
    Server("s").add_resource(lambda: "", uri, name="r")


@given(st.text())
def test_what_is_written_of_a_uri_is_one(rest: str) -> None:
    written = written_uri("x", f"x:{rest}")

    assert written.isascii()
    assert written_uri("x", written) == written


def test_uris_in_results_are_written_as_they_have_to_be() -> None:
    assert Link("x://a b", name="n").block().uri == "x://a%20b"  # type: ignore[union-attr]
    for block in (Embedded("x://a b", "t").block(), File(b"t", uri="x://a b").block()):
        assert block.resource.uri == "x://a%20b"  # type: ignore[union-attr]


BAD_ICONS: list[tuple[Any, str]] = [
    (Icon("javascript:alert(1)"), "https or data URI"),
    (Icon("file:///etc/passwd"), "https or data URI"),
    (Icon("ftp://example.org/i.png"), "https or data URI"),
    (Icon("ws://example.org/i.png"), "https or data URI"),
    (Icon("data:text/html,<script>"), "data:image/"),
    (Icon("icon.png"), "https or data URI"),
    (Icon("https://"), "https or data URI"),
    (Icon("https://example.org/a b"), "https or data URI"),
    (Icon(" https://example.org/a"), "https or data URI"),
    (Icon("https://x.example/i", theme="blue"), "theme of an icon"),  # type: ignore[arg-type]
    (Icon("https://x.example/i", sizes=["big"]), "size of an icon"),
    (Icon("https://x.example/i", sizes="48x48"), "sizes of an icon is a list of str"),  # type: ignore[arg-type]
    (Icon("https://x.example/i", mime_type="png"), "mime_type is like"),
]


@pytest.mark.parametrize(("icon", "words"), BAD_ICONS)
def test_an_icon_that_clients_refuse_is_refused(icon: Any, words: str) -> None:
    server = Server("s")

    with pytest.raises((TypeError, ValueError), match=words):
        server.add_tool(lambda: "", name="t", icons=[icon])
    with pytest.raises((TypeError, ValueError), match=words):
        server.add_resource(lambda: "", "x://a", name="r", icons=[icon])
    with pytest.raises((TypeError, ValueError), match=words):
        server.add_prompt(lambda: "", name="p", icons=[icon])
    with pytest.raises((TypeError, ValueError), match=words):
        Server("s", icons=[icon])
    with pytest.raises((TypeError, ValueError), match=words):
        Link("x://a", name="n", icons=[icon])


@pytest.mark.parametrize(
    "src", ["https://example.org/i.png", "HTTPS://example.org", "data:image/png;base64,aGk="]
)
def test_an_icon_is_an_https_or_data_uri(src: str) -> None:
    Server("s", icons=[Icon(src, theme="dark", sizes=["48x48", "any"])])


GOOD_KEYS = [
    *("name", "a", "", "a.b-c_d", "traceparent", "ui", "com.example/name", "com.example/"),
    *("com.example.mcp/a", "mcp/a", "a-b.c1/x", "io.modelcontextprotocol/related-task"),
]
ILLEGAL_KEYS = ["-a", "a-", "a b", "ä", "/a", "a//b", "1a/b", "a-/b", "a..b/c", "a_b/c", "a/b/c"]
RESERVED_KEYS = [
    *("io.modelcontextprotocol/serverInfo", "dev.mcp/a", "modelcontextprotocol.io/a", "mcp.dev/a"),
    *("api.modelcontextprotocol.org/a", "com.mcp.tools/a"),
]


@pytest.mark.parametrize("key", GOOD_KEYS)
def test_a_key_of_meta_is_a_name_or_has_a_domain_in_front(key: str) -> None:
    valid_meta("it", {key: 1})


@pytest.mark.parametrize("key", [*ILLEGAL_KEYS, *RESERVED_KEYS, 5])
def test_a_key_of_meta_that_is_not_the_authors_is_refused_at_registration(key: Any) -> None:
    server, meta = Server("s"), {key: 1}

    with pytest.raises((TypeError, ValueError), match="meta has the key"):
        server.add_tool(lambda: "", name="t", meta=meta)
    with pytest.raises((TypeError, ValueError), match="meta has the key"):
        server.add_resource(lambda: "", "x://a", name="r", meta=meta)
    with pytest.raises((TypeError, ValueError), match="meta has the key"):
        server.add_prompt(lambda: "", name="p", meta=meta)
    with pytest.raises((TypeError, ValueError), match="meta has the key"):
        Text("x", meta=meta)
    with pytest.raises((TypeError, ValueError), match="meta has the key"):
        Result("x", meta=meta)


@pytest.mark.parametrize(
    "result",
    [
        CallToolResult(content=[], meta={"io.modelcontextprotocol/serverInfo": 1}),
        CallToolResult(content=[TextContent("x", meta={"-": 1})]),
    ],
)
async def test_a_key_of_meta_that_is_not_the_authors_fails_the_call(result: Any) -> None:
    server = Server("s", errors="show")
    server.add_tool(lambda: result, name="t")

    async with Client(server) as client:
        answer = await client.call_raw("t")

    assert answer.is_error
    assert "the result: meta has the key" in answer.text


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc", "example.org", "https://a b", ""]
)
def test_a_website_that_is_none_is_refused(url: str) -> None:
    server = Server("s", website_url="https://example.org/docs")

    for refused in (
        lambda: Server("s", website_url=url),
        lambda: setattr(server, "website_url", url),
        lambda: Listener("127.0.0.1:0", info={"website_url": url}),
    ):
        with pytest.raises(ValueError, match="website_url is an http or https URL"):
            refused()
    assert server.website_url == "https://example.org/docs"
