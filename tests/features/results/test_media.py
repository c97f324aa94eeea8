"""Media types of bytes and of file names."""

import mimetypes
import time

import pytest

from toolhaft.features.results.media import is_text, media_type, name_in, named, sniffed, text_of

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF"
ZIP = b"PK\3\4\x14\0\0\0"
MP4 = b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41"


@pytest.mark.parametrize(
    ("data", "media"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (b"GIF87a\1\0", "image/gif"),
        (b"GIF89a\1\0", "image/gif"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
        (b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0", "image/bmp"),
        (b"II*\0\x08\0\0\0", "image/tiff"),
        (b"MM\0*\0\0\0\x08", "image/tiff"),
        (b"\0\0\1\0\1\0\x10\x10\0\0\1\0\x20\0", "image/vnd.microsoft.icon"),
        (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1", "image/avif"),
        (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avif", "image/avif"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0mif1", "image/heif"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "image/heic"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav"),
        (b"ID3\3\0\0\0\0\0\x21", "audio/mpeg"),
        (b"ID3\4\0\0\0\0\0\x21", "audio/mpeg"),
        (b"\xff\xfb\x90\x64\0\0", "audio/mpeg"),
        (b"\xff\xf3\x40\xc4\0\0", "audio/mpeg"),
        (b"\xff\xf1\x50\x80", "audio/aac"),
        (b"OggS\0\2" + bytes(22) + b"\1vorbis", "audio/ogg"),
        (b"OggS\0\2" + bytes(22) + b"\x80theora", "video/ogg"),
        (b"fLaC\0\0\0\x22", "audio/flac"),
        (b"\0\0\0\x20ftypM4A \0\0\0\0", "audio/mp4"),
        (b"FORM\0\0\0\x40AIFFCOMM", "audio/aiff"),
        (b"FORM\0\0\0\x40AIFCFVER", "audio/aiff"),
        (b"MThd\0\0\0\6\0\1\0\2", "audio/midi"),
        (MP4, "video/mp4"),
        (b"\0\0\0\x14ftypqt  \0\0\2\0", "video/quicktime"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\1\x42\x82\x84webm", "video/webm"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\1\x42\x82\x88matroska", "video/x-matroska"),
        (b"RIFF\x24\0\0\0AVI LIST", "video/x-msvideo"),
        (b"%PDF-1.7\n", "application/pdf"),
        (ZIP, "application/zip"),
        (b"PK\5\6" + bytes(18), "application/zip"),
        (b"\x1f\x8b\x08\0", "application/gzip"),
        (b"BZh91AY&SY\0", "application/x-bzip2"),
        (b"\xfd7zXZ\0\0", "application/x-xz"),
        (b"\x28\xb5\x2f\xfd\0", "application/zstd"),
        (b"7z\xbc\xaf\x27\x1c\0", "application/x-7z-compressed"),
        (b"SQLite format 3\0\x10", "application/vnd.sqlite3"),
        (b"\0asm\1\0\0\0", "application/wasm"),
        (b"PAR1\x15\4\x15", "application/vnd.apache.parquet"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"),
        (b"<svg>", "image/svg+xml"),
        (b"\xef\xbb\xbf\n <svg\nwidth='1'>", "image/svg+xml"),
        (b"<?xml version='1.0'?>\n<!-- a > b --><svg width='1'>", "image/svg+xml"),
        (
            b"<?xml version='1.0' encoding='utf-8'?>\n<!DOCTYPE svg PUBLIC 'x' 'y' [\n"
            b"<!ENTITY a 'b'>\n]>\n<svg>",
            "image/svg+xml",
        ),
    ],
)
def test_a_format_is_known_by_its_marks(data: bytes, media: str) -> None:
    assert sniffed(data) == media


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"hello",
        b"BMW makes cars",
        b"ID3 tags are found in music",
        b"OggSomething",
        b"RIFF is a container",
        b"PAR1 is a magic number",
        b"fLaC is lossless",
        b"FORM 1040 for AIFF",
        b"BZh is short",
        b"abc ftyp isom",
        b"<?xml version='1.0'?><feed/>",
        b"<?xml version='1.0'?><html><svg></svg></html>",
        b"<html><svg>",
        b"<svgs>",
        b"<svg",
        b"<!-- never closed <svg>",
        b"\xff\xfeh\0i\0",  # UTF-16
        b"\xff\xfb\xf0\x64",  # a bit rate that does not exist
        b"\xff\xfb\x9c\x64",  # a sampling rate that does not exist
        b"\xff\xeb\x90\x64",  # a version that does not exist
        b"\xff\xfb",
        b"\x89PNG",
    ],
)
def test_what_only_looks_like_a_format_is_not_taken_for_it(data: bytes) -> None:
    assert sniffed(data) is None


@pytest.mark.parametrize(
    ("name", "media"),
    [
        ("README.md", "text/markdown"),
        ("a.py", "text/x-python"),
        ("a.json", "application/json"),
        ("a.csv", "text/csv"),
        ("a.yaml", "application/yaml"),
        ("a.yml", "application/yaml"),
        ("a.toml", "application/toml"),
        ("a.html", "text/html"),
        ("a.css", "text/css"),
        ("a.js", "text/javascript"),
        ("a.ts", "text/x-typescript"),
        ("a.PNG", "image/png"),
        ("a.b.jpg", "image/jpeg"),
        ("a.tar.gz", "application/gzip"),
        ("a.svg", "image/svg+xml"),
        ("a.mp3", "audio/mpeg"),
        ("folder.d/a.txt", "text/plain"),
        ("png", None),
        ("", None),
        ("a.", None),
        ("a.unheard-of", None),
        ("folder.png/file", None),
    ],
)
def test_a_name_tells_a_type_by_its_ending(name: str, media: str | None) -> None:
    assert named(name) == media


def test_the_tables_of_the_machine_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mimetypes, "types_map", {".md": "text/wrong"})

    assert named("a.md") == "text/markdown"


@pytest.mark.parametrize(
    ("data", "name", "media"),
    [
        (PNG, None, "image/png"),
        (PNG, "a.png", "image/png"),
        (PNG, "a.jpg", "image/png"),
        (PNG, "a.txt", "image/png"),
        (PNG, "a", "image/png"),
        (ZIP, "a.zip", "application/zip"),
        (ZIP, "a.epub", "application/epub+zip"),
        (
            ZIP,
            "a.docx",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        (ZIP, "a.png", "application/zip"),
        (b"%PDF-1.4", "a.zip", "application/pdf"),
        (MP4, "a.m4a", "audio/mp4"),
        (MP4, "a.mp4", "video/mp4"),
        (MP4, "a.mp3", "video/mp4"),
        (b"# Title", "a.md", "text/markdown"),
        (b"# Title", None, "text/plain"),
        (b"# Title", "NOTES", "text/plain"),
        (b"", None, "text/plain"),
        (b"", "a.csv", "text/csv"),
        (b"\0\1\2\3", None, "application/octet-stream"),
        (b"\0\1\2\3", "a.bin", "application/octet-stream"),
        (b"caf\xe9", None, "application/octet-stream"),
        (b"caf\xe9", "menu.txt", "text/plain"),
    ],
)
def test_bytes_and_name_together_tell_the_type(data: bytes, name: str | None, media: str) -> None:
    assert media_type(data, name) == media


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", True),
        (b"a\tb\r\nc\f", True),
        (b"\x1b[31mred\x1b[0m", True),
        ("übergroß 🎈".encode(), True),
        (b"a\0b", False),
        (b"a\x07b", False),
        (b"\xff\xfe", False),
        (b"cut \xf0\x9f\x8e", False),
        ("🎈".encode() * 4096, True),
        (b"a" * 8191 + "é".encode(), True),
        (b"a" * 8190 + "€".encode(), True),
        (b"a" * 8189 + "🎈".encode(), True),
        (b"a" * 8191 + b"\xff" + b"a", False),
        (b"a" * 8191 + b"\xc3", False),
        (b"a" * 8192 + b"\0", True),
    ],
)
def test_text_is_utf_8_without_controls_in_its_first_8_kib(data: bytes, text: bool) -> None:
    assert is_text(data) is text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("grün".encode(), "grün"),
        (b"<svg/>", "<svg/>"),
        (b"", ""),
        (b"%PDF-1.4 all in ASCII", None),
        (b"\0", None),
        (b"a" * 9000 + b"\xe9", None),
    ],
)
def test_text_is_given_only_if_all_of_it_is_text(data: bytes, text: str | None) -> None:
    assert text_of(data) == text


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:///a/b.txt", "b.txt"),
        ("file:///a/b/", "b"),
        ("https://example.com/x.png?size=1/2#top/3", "x.png"),
        ("https://example.com", ""),
        ("https://example.com/", ""),
        ("notes:todo.md", "todo.md"),
        ("urn:isbn:1", "isbn:1"),
        ("config://app", ""),
    ],
)
def test_the_name_in_a_uri_is_the_end_of_its_path(uri: str, name: str) -> None:
    assert name_in(uri) == name


@pytest.mark.parametrize("start", [b"", b"<!--", b"<!" * 100, b"<?xml ?>" * 100, b"\0\0\0\0ftyp"])
def test_large_data_takes_no_time(start: bytes) -> None:
    data = start + b"<!" * 20_000_000

    begin = time.perf_counter()
    media_type(data, "a.unknown")

    assert time.perf_counter() - begin < 0.05
