"""Frames out of chunks of bytes, and bytes out of frames."""

from typing import Literal

import pytest

from toolhaft.protocol.framing import Framer, TooLong

Framing = Literal["auto", "lines", "content-length"]


def frames(*chunks: bytes, limit: int = 100, framing: Framing = "auto") -> list[bytes | str]:
    """What comes of some chunks; what was too long as text, by how it began."""
    framer = Framer(limit, framing)
    for chunk in chunks:
        framer.feed(chunk)
    return [
        frame if isinstance(frame, bytes) else f"too long: {frame.head[:9].decode()}"
        for frame in framer.frames
    ]


def wrapped(framer: Framer, frames: list[bytes]) -> bytes:
    """Frames as they go out; in how many pieces is the framer's own business."""
    return framer.wrap(frames)


END = b""


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([b"{}\n"], [b"{}"]),
        ([b"{}\r\n"], [b"{}"]),
        ([b"{}\n[]\n"], [b"{}", b"[]"]),
        ([b"{", b"}", b"\n"], [b"{}"]),
        ([b"{}\n[", b"]\n"], [b"{}", b"[]"]),
        ([b"{}"], []),
        ([b"{}", END], [b"{}"]),
        ([b"{}\n[]", END], [b"{}", b"[]"]),
        ([b"\n\r\n \t\n{}\n\n"], [b"{}"]),
        ([b"{}\n", b" \n", b"\t\r\n", b"[]\n"], [b"{}", b"[]"]),
        ([b"{}\r[]\n"], [b"{}\r[]"]),
        ([END], []),
        ([b"Contents\n"], [b"Contents"]),
        ([b"C", END], [b"C"]),
    ],
)
def test_lines_are_cut(chunks: list[bytes], expected: list[bytes]) -> None:
    assert frames(*chunks) == expected


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        (b"{}\n", b"{}"),
        (b" {}\t\r\n", b"{}"),
        (b"\n\r\n{}\n \n", b"{}"),
        (b"{}\r[]\n", b"{}\r[]"),
        (b"x" * 99 + b"\n", b"x" * 99),
        (b"x" * 100 + b"\n", b""),
        (b"{}\n[]\n", b""),
        (b"{}", b""),
        (b"{}\n[", b""),
        (b" \n", b""),
        (END, b""),
    ],
)
def test_a_line_by_itself_is_told_from_anything_else(chunk: bytes, expected: bytes) -> None:
    assert Framer(100, "lines").only_line(chunk) == expected


@pytest.mark.parametrize("before", [b"[", b"[]\n", b"x" * 200, b"Content-Length: 3\n\n"])
def test_a_line_that_something_goes_before_is_not_by_itself(before: bytes) -> None:
    framer = Framer(100)
    framer.feed(before)

    assert framer.only_line(b"{}\n") == b""


def test_before_the_framing_is_known_nothing_is_a_line() -> None:
    assert Framer(100).only_line(b"{}\n") == b""


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([b"Content-Length: 2\r\n\r\n{}"], [b"{}"]),
        ([b"Content-Length: 2\n\n{}"], [b"{}"]),
        ([b"content-length:2\r\n\r\n{}"], [b"{}"]),
        ([b"CONTENT-LENGTH : 2 \r\n\r\n{}"], [b"{}"]),
        ([b"Content-Type: a/b; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}"], [b"{}"]),
        ([b"Content-Length: 2\r\nContent-Type: a/b\r\n\r\n{}"], [b"{}"]),
        ([b"Content-Length: 2\r\n\r\n{}Content-Length: 4\r\n\r\n[\n ]"], [b"{}", b"[\n ]"]),
        ([b"Content-Length: 2\r\n\r\n{}\n\nContent-Length: 2\r\n\r\n[]"], [b"{}", b"[]"]),
        ([b"Content-Length: 2\r\n\r", b"\n{", b"}"], [b"{}"]),
        ([b"Content-Len", b"gth: 2\r\n", b"\r\n{}"], [b"{}"]),
        ([b"Content-Length: 4\r\n\r\n{}"], []),
        ([b"\r\nContent-Length: 2\r\n\r\n{}"], [b"{}"]),
    ],
)
def test_bodies_are_cut(chunks: list[bytes], expected: list[bytes]) -> None:
    assert frames(*chunks) == expected


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1}\n{"b":2}\r\n\n[]\n',
        b'Content-Length: 7\r\n\r\n{"a":1}Content-Type: x\r\nContent-Length: 2\r\n\r\n[]',
        b'Content-Length: 7\n\n{"a":1}Content-Length: 2\n\n[]',
        b"Content-Type: x\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_it_does_not_matter_where_a_stream_is_split(data: bytes) -> None:
    whole = frames(data)

    for place in range(1, len(data)):
        assert frames(data[:place], data[place:]) == whole
    assert frames(*(bytes([byte]) for byte in data)) == whole


def test_a_line_of_just_the_limit_is_taken() -> None:
    assert frames(b"x" * 100 + b"\n") == [b"x" * 100]
    assert frames(b"x" * 101 + b"\n") == ["too long: xxxxxxxxx"]


def test_a_line_that_is_too_long_is_told_once_and_the_next_is_taken() -> None:
    long = [b"start " + b"x" * 94, *[b"x" * 100] * 5, b"\n{}\n"]

    assert frames(*long) == ["too long: start xxx", b"{}"]


def test_a_line_that_is_too_long_is_told_at_its_end_only() -> None:
    assert frames(b"x" * 500) == []
    assert frames(b"x" * 500, END) == ["too long: xxxxxxxxx"]


def test_a_body_that_is_too_long_is_skipped_by_its_length() -> None:
    body = b"x" * 500 + b"\n{}\n"
    data = b"Content-Length: %d\r\n\r\n%bContent-Length: 2\r\n\r\n[]" % (len(body), body)

    assert frames(data) == ["too long: xxxxxxxxx", b"[]"]
    assert frames(*(bytes([byte]) for byte in data)) == ["too long: xxxxxxxxx", b"[]"]


@pytest.mark.parametrize("start", [b"", b"Content-Length: 900000000\r\n\r\n"])
def test_what_is_skipped_is_not_kept(start: bytes) -> None:
    framer = Framer(1000)
    framer.feed(start or b"{}\n")
    for _ in range(2000):
        framer.feed(b"x" * 1000)

    assert len(framer._buffer) <= 70_000
    assert not any(isinstance(frame, TooLong) for frame in framer.frames)


def test_who_is_spoken_to_in_lines_is_answered_in_lines() -> None:
    framer = Framer(100)
    framer.feed(b"{}\n")

    assert wrapped(framer, [b"{}", b"[]"]) == b"{}\n[]\n"
    assert wrapped(framer, []) == b""


def test_who_is_spoken_to_with_headers_is_answered_with_headers() -> None:
    framer = Framer(100)
    framer.feed(b"Content-Length: 2\n\n{}")

    assert wrapped(framer, [b"{}", "\u00fc".encode()]) == (
        b"Content-Length: 2\r\n\r\n{}Content-Length: 2\r\n\r\n\xc3\xbc"
    )


def test_a_long_frame_goes_out_as_it_is() -> None:
    framer = Framer(100)
    framer.feed(b"{}\n")

    assert wrapped(framer, [b"x" * 1_000_000]) == b"x" * 1_000_000 + b"\n"


def test_before_anything_is_said_lines_are_spoken() -> None:
    assert wrapped(Framer(100), [b"{}"]) == b"{}\n"


def test_a_framing_that_is_demanded_is_not_guessed() -> None:
    assert frames(b"Content-Length: 2\n{}\n", framing="lines") == [b"Content-Length: 2", b"{}"]
    assert frames(b"{}\nContent-Length: 2\n\n[]", framing="content-length") == [b"[]"]
    assert wrapped(Framer(100, "content-length"), [b"{}"]) == b"Content-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize("word", [b"Content-Length", b"content-length\x0b\x0b", b"c", b"x"])
def test_a_first_word_that_no_colon_follows_is_not_kept_for_ever(word: bytes) -> None:
    framer = Framer(100)

    for chunk in (word, *([b" " * 50] * 20)):
        framer.feed(chunk)
    held = len(framer._buffer)
    framer.feed(b"\n{}\n")

    assert held <= 150
    assert isinstance(framer.frames[0], TooLong)
    assert list(framer.frames)[1:] == [b"{}"]


@pytest.mark.parametrize("size", [65536, 1000, 1_000_000])
@pytest.mark.parametrize("length", [100_001, 165_536, 300_000])
def test_what_follows_a_body_that_is_too_long_is_read(size: int, length: int) -> None:
    body = b'{"head":' + b"x" * (length - 14) + b",tail}"
    data = b"Content-Length: %d\r\n\r\n%bContent-Length: 2\r\n\r\n{}" % (length, body)
    framer = Framer(100_000)

    for start in range(0, len(data), size):
        framer.feed(data[start : start + size])

    too_long, then = framer.frames
    assert then == b"{}"
    assert isinstance(too_long, TooLong)
    assert (too_long.head, too_long.tail) == (body[:65536], body[-1024:])


@pytest.mark.parametrize("size", [65536, 1000, 1_000_000])
@pytest.mark.parametrize("length", [100_001, 165_536, 300_000])
def test_of_a_line_that_is_too_long_both_ends_are_kept(size: int, length: int) -> None:
    line = b'{"head":' + b"x" * (length - 14) + b",tail}"
    framer = Framer(100_000)

    for start in range(0, length + 4, size):
        framer.feed((line + b"\n{}\n")[start : start + size])

    too_long, then = framer.frames
    assert then == b"{}"
    assert isinstance(too_long, TooLong)
    assert (too_long.head, too_long.tail) == (line[:65536], line[-1024:])


def test_a_line_that_is_too_long_among_headers_is_passed_over() -> None:
    framer = Framer(100)

    framer.feed(b"Content-Length: 2\r\nX: " + b"x" * 200 + b"\r\n\r\n{}")

    assert list(framer.frames) == [b"{}"]


def test_a_header_that_takes_long_to_end_is_read_once() -> None:
    framer = Framer(100)

    framer.feed(b"Content-Length: 2\r\n")
    for byte in b"X: y":
        framer.feed(bytes([byte]))
        assert framer._scanned == len(framer._buffer)  # and is not looked at again
    framer.feed(b"\r\n\r\n{}")

    assert list(framer.frames) == [b"{}"]
