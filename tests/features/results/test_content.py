"""What authors return, and the blocks of the wire that it becomes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolhaft.features.results.content import (
    Audio,
    Contents,
    Embedded,
    File,
    Image,
    Link,
    Result,
    Text,
    block_of_bytes,
    blocks_of,
)
from toolhaft.types.content import ImageContent, TextContent
from toolhaft.types.wire import Icon

PNG = b"\x89PNG\r\n\x1a\n"
PNG_TEXT = "iVBORw0KGgo="
WAV = b"RIFF\0\0\0\0WAVE"
WAV_TEXT = "UklGRgAAAABXQVZF"


def sent(value: Any) -> Any:
    """A value of the wire as the client sees it."""
    return json.loads(msgspec.json.encode(value))


# Text


def test_text_is_a_text_block() -> None:
    assert sent(Text("hello").block()) == {"type": "text", "text": "hello"}


def test_a_block_says_for_whom_it_is_and_how_much_it_matters() -> None:
    block = Text("x", audience=["user"], priority=0.5, meta={"a/b": 1}).block()

    assert sent(block) == {
        "type": "text",
        "text": "x",
        "annotations": {"audience": ["user"], "priority": 0.5},
        "_meta": {"a/b": 1},
    }


@pytest.mark.parametrize(
    "make",
    [
        lambda **words: Text("x", **words),
        lambda **words: Image(PNG, **words),
        lambda **words: Audio(WAV, **words),
        lambda **words: File(b"x", name="x", **words),
        lambda **words: Link("a:b", **words),
        lambda **words: Embedded("a:b", "x", **words),
    ],
)
def test_every_block_takes_the_same_words(make: Callable[..., Any]) -> None:
    block = sent(make(audience=("user", "assistant"), priority=1, meta={"k": 2}).block())

    assert block["annotations"] == {"audience": ["user", "assistant"], "priority": 1}
    assert block["_meta"] == {"k": 2}


@pytest.mark.parametrize("priority", [0, 0.0, 1, 1.0, 0.25])
def test_a_priority_is_from_0_to_1(priority: float) -> None:
    assert sent(Text("x", priority=priority).block())["annotations"] == {"priority": priority}


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"priority": 1.1}, ValueError, "Text: priority is from 0 (least) to 1 (most), not 1.1"),
        ({"priority": -1}, ValueError, "Text: priority is from 0 (least) to 1 (most), not -1"),
        (
            {"priority": float("nan")},
            ValueError,
            "Text: priority is from 0 (least) to 1 (most), not nan",
        ),
        ({"priority": True}, TypeError, "Text: priority is a number, not bool"),
        ({"priority": "1"}, TypeError, "Text: priority is a number, not str"),
        (
            {"audience": "user"},
            ValueError,
            'Text: audience is as in ["user", "assistant"], not \'user\'',
        ),
        (
            {"audience": 5},
            ValueError,
            'Text: audience is as in ["user", "assistant"], not 5',
        ),
        (
            {"audience": ["model"]},
            ValueError,
            'Text: audience is as in ["user", "assistant"], not [\'model\']',
        ),
        ({"meta": [1]}, TypeError, "Text: meta is dict, not list"),
    ],
)
def test_wrong_words_are_refused(
    words: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        Text("x", **words)

    assert str(caught.value) == message


# Image and Audio


@pytest.mark.parametrize("source", [PNG, bytearray(PNG), memoryview(PNG)])
def test_an_image_is_made_of_bytes(source: bytes) -> None:
    assert sent(Image(source).block()) == {
        "type": "image",
        "data": PNG_TEXT,
        "mimeType": "image/png",
    }


@pytest.mark.parametrize("kind", [str, Path])
def test_an_image_is_made_of_a_file_that_is_read_at_once(
    tmp_path: Path, kind: Callable[[Path], Any]
) -> None:
    path = tmp_path / "picture.jpg"
    path.write_bytes(PNG)
    image = Image(kind(path))
    path.unlink()

    assert sent(image.block()) == {"type": "image", "data": PNG_TEXT, "mimeType": "image/png"}


def test_a_sound_is_made_of_bytes() -> None:
    assert sent(Audio(WAV).block()) == {"type": "audio", "data": WAV_TEXT, "mimeType": "audio/wav"}


def test_a_name_tells_a_sound_from_a_film(tmp_path: Path) -> None:
    path = tmp_path / "voice.m4a"
    path.write_bytes(b"\0\0\0\x14ftypisom\0\0\2\0isom")

    assert sent(Audio(path).block())["mimeType"] == "audio/mp4"


def test_a_type_that_is_given_is_believed() -> None:
    assert sent(Image(b"??", "image/jxl").block())["mimeType"] == "image/jxl"


def test_a_page_that_is_called_a_picture_is_none(tmp_path: Path) -> None:
    path = tmp_path / "logo.png"
    path.write_text("<html>404</html>")

    with pytest.raises(ValueError, match="Image: the source looks like text/plain"):
        Image(path)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Image(WAV),
            "Image: the source looks like audio/wav; if it is of a rare format, give "
            'mime_type="image/…", and if it is something else, return a File',
        ),
        (
            lambda: Audio(b""),
            "Audio: the source looks like nothing, it is empty; if it is of a rare format, give "
            'mime_type="audio/…", and if it is something else, return a File',
        ),
        (
            lambda: Image(PNG, "audio/wav"),
            "Image: mime_type begins with image/, and 'audio/wav' does not",
        ),
        (lambda: Image(PNG, "png"), "Image: mime_type is like text/plain, not 'png'"),
        (
            lambda: Image("https://example.com/a.png"),
            "Image: the source is no URL ('https://example.com/a.png'); fetch it, or use Link",
        ),
        (lambda: File(b"x"), 'File: bytes have no name; give name="report.pdf", or uri='),
        (
            lambda: File(b"x", name="a/b"),
            "File: name is that of a file, not 'a/b'; give a path as uri=",
        ),
        (
            lambda: File(b"x", name=".."),
            "File: name is that of a file, not '..'; give a path as uri=",
        ),
        (
            lambda: Link("readme.md"),
            "Link: a URI begins with a scheme, as in notes://readme.md, not 'readme.md'",
        ),
        (lambda: Link("a:b", size=-1), "Link: size is a number of bytes, not -1"),
        (
            lambda: Contents("x", uri="b"),
            "Contents: a URI begins with a scheme, as in notes://b, not 'b'",
        ),
    ],
)
def test_wrong_values_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        make()

    assert str(caught.value) == message


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"/etc/passwd"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Text(1), "Text: text is str, not int"),
        (lambda: Image(3), "Image: the source is bytes or a path, not int"),
        (lambda: Image(None), "Image: the source is bytes or a path, not NoneType"),
        (lambda: File(BytesPath()), "File: the source is bytes or a path, not BytesPath"),
        (lambda: File(b"x", name=1), "File: name is str, not int"),
        (lambda: Link(1), "Link: uri is str, not int"),
        (lambda: Link("a:b", 1), "Link: name is str, not int"),
        (lambda: Link("a:b", icons=["x"]), "Link: each of icons is Icon, not str"),
        (lambda: Link("a:b", size="1"), "Link: size is int, not str"),
        (lambda: Embedded("a:b", {}), "Embedded: the content is str or bytes, not dict"),
        (lambda: Contents(None), "Contents: the content is str or bytes, not NoneType"),
        (lambda: Result("x", error=1), "Result: error is bool, not int"),
        (
            lambda: Result({"a": 1}),
            "Result: content is made of str, Text, Image, File and their like, not of dict; data "
            "goes to structured=",
        ),
    ],
)
def test_wrong_types_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        make()

    assert str(caught.value) == message


def test_a_file_that_is_missing_is_missed_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Image(tmp_path / "none.png")


# File


def test_a_text_file_is_embedded_as_text_without_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "große notes#1.md"
    path.write_text("# Höhe", encoding="utf-8")

    assert sent(File(path).block()) == {
        "type": "resource",
        "resource": {
            "uri": "file:///gro%C3%9Fe%20notes%231.md",
            "text": "# Höhe",
            "mimeType": "text/markdown",
        },
    }


def test_a_binary_file_is_embedded_as_bytes() -> None:
    assert sent(File(b"\0\1", name="a.bin").block()) == {
        "type": "resource",
        "resource": {
            "uri": "file:///a.bin",
            "blob": "AAE=",
            "mimeType": "application/octet-stream",
        },
    }


def test_a_file_may_have_another_name_type_and_uri(tmp_path: Path) -> None:
    path = tmp_path / "tmp123"
    path.write_text("a,b")

    named = File(path, name="table.csv").block()
    full = File(path, uri="sheets://7/x.csv", mime_type="text/x-table").block()

    assert sent(named)["resource"] == {
        "uri": "file:///table.csv",
        "text": "a,b",
        "mimeType": "text/csv",
    }
    assert sent(full)["resource"] == {
        "uri": "sheets://7/x.csv",
        "text": "a,b",
        "mimeType": "text/x-table",
    }


def test_bytes_with_a_uri_take_their_type_from_it() -> None:
    assert sent(File(b"a,b", uri="sheets://7/x.csv").block())["resource"]["mimeType"] == "text/csv"


def test_a_drawing_is_text_and_a_pdf_is_not() -> None:
    drawing = sent(File(b"<svg/>", name="a.svg").block())["resource"]
    paper = sent(File(b"%PDF-1.4", name="a.pdf").block())["resource"]

    assert drawing == {"uri": "file:///a.svg", "text": "<svg/>", "mimeType": "image/svg+xml"}
    assert paper == {"uri": "file:///a.pdf", "blob": "JVBERi0xLjQ=", "mimeType": "application/pdf"}


# Link and Embedded


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:///a/b.txt", "b.txt"),
        ("https://example.com/x?y=/z", "x"),
        ("https://example.com/", "https://example.com/"),
        ("config://app", "config://app"),
        ("notes:todo", "todo"),
    ],
)
def test_a_link_is_called_by_the_end_of_its_path(uri: str, name: str) -> None:
    assert sent(Link(uri).block()) == {"type": "resource_link", "uri": uri, "name": name}


def test_a_link_says_all_it_was_told() -> None:
    link = Link(
        "a:b",
        "name",
        title="Title",
        description="What it is",
        mime_type="text/plain; charset=utf-8",
        size=0,
        icons=[Icon("https://example.com/i.png")],
    )

    assert sent(link.block()) == {
        "type": "resource_link",
        "uri": "a:b",
        "name": "name",
        "title": "Title",
        "description": "What it is",
        "mimeType": "text/plain; charset=utf-8",
        "size": 0,
        "icons": [{"src": "https://example.com/i.png"}],
    }


@pytest.mark.parametrize(
    ("embedded", "resource"),
    [
        (Embedded("a:b", "x"), {"uri": "a:b", "text": "x", "mimeType": "text/plain"}),
        (Embedded("a:b", PNG), {"uri": "a:b", "blob": PNG_TEXT, "mimeType": "image/png"}),
        (
            Embedded("a:b", "{}", mime_type="application/json"),
            {"uri": "a:b", "text": "{}", "mimeType": "application/json"},
        ),
    ],
)
def test_what_is_embedded_has_a_uri_and_a_type(embedded: Embedded, resource: object) -> None:
    assert sent(embedded.block()) == {"type": "resource", "resource": resource}


# Contents


@pytest.mark.parametrize(
    ("contents", "declared", "expected"),
    [
        (Contents("x"), None, {"uri": "a:b", "text": "x", "mimeType": "text/plain"}),
        (Contents("x"), "text/csv", {"uri": "a:b", "text": "x", "mimeType": "text/csv"}),
        (
            Contents("x", uri="c:d", mime_type="text/html", meta={"k": 1}),
            "text/csv",
            {"uri": "c:d", "text": "x", "mimeType": "text/html", "_meta": {"k": 1}},
        ),
        (Contents(PNG), None, {"uri": "a:b", "blob": PNG_TEXT, "mimeType": "image/png"}),
        (
            Contents(b"x", uri="c:d.md"),
            None,
            {"uri": "c:d.md", "blob": "eA==", "mimeType": "text/markdown"},
        ),
    ],
)
def test_contents_fill_in_what_the_resource_knows(
    contents: Contents, declared: str | None, expected: object
) -> None:
    assert sent(contents.contents("a:b", declared)) == expected


# Result


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Result(), {"content": []}),
        (Result("x"), {"content": [{"type": "text", "text": "x"}]}),
        (Result(Text("x")), {"content": [{"type": "text", "text": "x"}]}),
        (
            Result(["x", TextContent("y"), Link("a:b")]),
            {
                "content": [
                    {"type": "text", "text": "x"},
                    {"type": "text", "text": "y"},
                    {"type": "resource_link", "uri": "a:b", "name": "b"},
                ]
            },
        ),
        (
            Result("no", error=True, meta={"k": 1}),
            {"content": [{"type": "text", "text": "no"}], "isError": True, "_meta": {"k": 1}},
        ),
        (
            Result("short", structured={"a": [1, 2]}),
            {
                "content": [{"type": "text", "text": "short"}],
                "structuredContent": {"a": [1, 2]},
            },
        ),
        (
            Result(structured={"a": [1, 2]}),
            {
                "content": [{"type": "text", "text": '{"a":[1,2]}'}],
                "structuredContent": {"a": [1, 2]},
            },
        ),
        (
            Result(structured=None),
            {"content": [{"type": "text", "text": "null"}], "structuredContent": None},
        ),
        (Result([], structured=1), {"content": [], "structuredContent": 1}),
    ],
)
def test_a_result_is_sent_as_it_was_made(result: Result, expected: object) -> None:
    assert sent(result.wire()) == expected


# Any value


@pytest.mark.parametrize(
    "value", ["x", b"x", None, 1, {}, [], (), ["x"], [b"x"], [1], [["x"]], {"a": Text("x")}]
)
def test_plain_values_are_no_blocks(value: object) -> None:
    assert blocks_of(value) is None


@pytest.mark.parametrize("value", [Text("x"), TextContent("x"), [Text("x")], (TextContent("x"),)])
def test_one_block_is_a_list_of_one(value: object) -> None:
    assert blocks_of(value) == [TextContent("x")]


def test_what_stands_beside_a_block_becomes_one() -> None:
    blocks = blocks_of(["a", Image(PNG), 1, {"k": [1, None]}, None, PNG, b"text", b"\0"])

    assert blocks is not None
    assert [sent(block) for block in blocks] == [
        {"type": "text", "text": "a"},
        {"type": "image", "data": PNG_TEXT, "mimeType": "image/png"},
        {"type": "text", "text": "1"},
        {"type": "text", "text": '{"k":[1,null]}'},
        {"type": "text", "text": "null"},
        {"type": "image", "data": PNG_TEXT, "mimeType": "image/png"},
        {"type": "text", "text": "text"},
        {
            "type": "resource",
            "resource": {
                "uri": "result:///7",
                "blob": "AA==",
                "mimeType": "application/octet-stream",
            },
        },
    ]


def test_an_item_that_json_cannot_hold_is_an_error() -> None:
    with pytest.raises(TypeError):
        blocks_of([Text("x"), object()])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (PNG, {"type": "image", "data": PNG_TEXT, "mimeType": "image/png"}),
        (WAV, {"type": "audio", "data": WAV_TEXT, "mimeType": "audio/wav"}),
        ("grün".encode(), {"type": "text", "text": "grün"}),
        (b"", {"type": "text", "text": ""}),
        (
            b"%PDF-1.4",
            {
                "type": "resource",
                "resource": {
                    "uri": "a:b",
                    "blob": "JVBERi0xLjQ=",
                    "mimeType": "application/pdf",
                },
            },
        ),
    ],
)
def test_bytes_are_shown_as_what_they_are(data: bytes, expected: object) -> None:
    assert sent(block_of_bytes(data, "a:b")) == expected


# As values


def test_equal_content_is_equal() -> None:
    assert Text("x") == Text("x")
    assert Text("x") != Text("y")
    assert Text("x") != Text("x", priority=1)
    assert Text("x") != TextContent("x")
    assert Image(PNG) == Image(bytearray(PNG), "image/png")
    assert Embedded("file:///a", "x") != File(b"x", name="a")
    assert Contents("x") == Contents("x")
    assert Contents("x") != Contents(b"x")
    assert Result("x") == Result([Text("x")])
    assert Result("x") != Result("x", error=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Text("hello"), "Text('hello')"),
        (Text("x" * 50), f"Text('{'x' * 40}…')"),
        (Image(PNG), "Image(image/png, 8 bytes)"),
        (Audio(WAV), "Audio(audio/wav, 12 bytes)"),
        (File(b"x", name="a.md"), "File('file:///a.md', text/markdown, 1 bytes)"),
        (Link("a:b"), "Link('a:b')"),
        (Embedded("a:b", b"xyz"), "Embedded('a:b', 3 bytes)"),
        (Contents("x"), "Contents('x')"),
        (Contents(b"x", uri="a:b"), "Contents(1 bytes, uri='a:b')"),
        (Result(["x", Image(PNG)]), "Result([TextContent, ImageContent])"),
        (Result("x", error=True), "Result([TextContent], error=True)"),
    ],
)
def test_content_is_shown_briefly(value: object, expected: str) -> None:
    assert repr(value) == expected


@pytest.mark.parametrize("value", [Text("x"), Image(PNG), Link("a:b"), Contents("x"), Result("x")])
def test_content_has_no_other_attributes(value: Any) -> None:
    with pytest.raises(AttributeError):
        value.anything = 1


def test_content_stands_in_annotations() -> None:
    annotation = list[Text | Image] | Result | None

    assert "Image" in str(annotation)


def test_what_is_handed_out_is_not_made_again() -> None:
    image, result = Image(PNG), Result("x")

    assert isinstance(image.block(), ImageContent)
    assert image.block() is image.block()
    assert result.wire() is result.wire()


def test_icons_of_a_link_are_a_list() -> None:
    wrong: Any = Icon("https://example.org/a.png")

    with pytest.raises(TypeError, match="Link: icons is a list of Icon, not Icon"):
        Link("a://b", icons=wrong)
