"""Media types of bytes and of file names, the same on every machine.

The tables of the operating system are not asked: they differ from host to host, and one of them
takes `.ts` for a video.
"""

from codecs import utf_8_decode

SVG = "image/svg+xml"

# How far is looked: for marks, for the first element of an XML text, and for signs of binary data.
_HEAD = 64
_PROLOG = 1024
_SAMPLE = 8192

# Each type with the marks it has, all of them: where, and what (a tuple: one of these). Short marks
# that text might begin with are lengthened by the bytes that have to follow in the format.
_MARKS: tuple[tuple[str, tuple[tuple[int, bytes | tuple[bytes, ...]], ...]], ...] = (
    ("image/png", ((0, b"\x89PNG\r\n\x1a\n"),)),
    ("image/jpeg", ((0, b"\xff\xd8\xff"),)),
    ("image/gif", ((0, (b"GIF87a", b"GIF89a")),)),
    ("image/webp", ((0, b"RIFF"), (8, b"WEBP"))),
    ("image/bmp", ((0, b"BM"), (6, b"\0\0\0\0"))),
    ("image/tiff", ((0, (b"II*\0", b"MM\0*")),)),
    ("image/vnd.microsoft.icon", ((0, b"\0\0\1\0"), (5, b"\0"), (9, b"\0"))),
    ("audio/wav", ((0, b"RIFF"), (8, b"WAVE"))),
    ("audio/mpeg", ((0, (b"ID3\2", b"ID3\3", b"ID3\4")),)),
    ("audio/aac", ((0, (b"\xff\xf1", b"\xff\xf9")),)),
    ("video/ogg", ((0, b"OggS\0"), (28, b"\x80theora"))),
    ("audio/ogg", ((0, b"OggS\0"),)),
    ("audio/flac", ((0, (b"fLaC\0", b"fLaC\x80")),)),
    ("audio/aiff", ((0, b"FORM"), (8, (b"AIFF", b"AIFC")))),
    ("audio/midi", ((0, b"MThd\0\0\0\6"),)),
    ("video/x-msvideo", ((0, b"RIFF"), (8, b"AVI "))),
    ("application/pdf", ((0, b"%PDF-"),)),
    ("application/zip", ((0, (b"PK\3\4", b"PK\5\6")),)),
    ("application/gzip", ((0, b"\x1f\x8b\x08"),)),
    ("application/x-bzip2", ((0, b"BZh"), (4, b"1AY&SY"))),
    ("application/x-xz", ((0, b"\xfd7zXZ\0"),)),
    ("application/zstd", ((0, b"\x28\xb5\x2f\xfd"),)),
    ("application/x-7z-compressed", ((0, b"7z\xbc\xaf\x27\x1c"),)),
    ("application/vnd.sqlite3", ((0, b"SQLite format 3\0"),)),
    ("application/wasm", ((0, b"\0asm"),)),
    ("application/vnd.apache.parquet", ((0, b"PAR1\x15"),)),
)

# The brands of ISO media files. Others hold films.
_BRANDS = {
    b"avif": "image/avif", b"avis": "image/avif",
    b"heic": "image/heic", b"heix": "image/heic", b"heim": "image/heic", b"heis": "image/heic",
    b"mif1": "image/heif", b"msf1": "image/heif",
    b"M4A ": "audio/mp4", b"M4B ": "audio/mp4", b"M4P ": "audio/mp4",
    b"qt  ": "video/quicktime",
}  # fmt: skip

# What IANA has not registered has an x-.
_ENDINGS = {
    "txt": "text/plain", "log": "text/plain", "ini": "text/plain", "cfg": "text/plain",
    "md": "text/markdown", "rst": "text/x-rst", "csv": "text/csv",
    "tsv": "text/tab-separated-values", "html": "text/html", "htm": "text/html",
    "css": "text/css", "js": "text/javascript", "mjs": "text/javascript",
    "ts": "text/x-typescript", "tsx": "text/x-typescript", "jsx": "text/javascript",
    "py": "text/x-python", "pyi": "text/x-python", "rs": "text/x-rust", "go": "text/x-go",
    "c": "text/x-c", "h": "text/x-c", "cpp": "text/x-c++", "java": "text/x-java",
    "rb": "text/x-ruby", "sh": "text/x-shellscript", "diff": "text/x-diff",
    "patch": "text/x-diff", "ics": "text/calendar",
    "json": "application/json", "jsonl": "application/x-ndjson", "xml": "application/xml",
    "yaml": "application/yaml", "yml": "application/yaml", "toml": "application/toml",
    "sql": "application/sql", "ipynb": "application/x-ipynb+json",
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
    "webp": "image/webp", "bmp": "image/bmp", "tif": "image/tiff", "tiff": "image/tiff",
    "ico": "image/vnd.microsoft.icon", "avif": "image/avif", "heic": "image/heic", "svg": SVG,
    "wav": "audio/wav", "mp3": "audio/mpeg", "ogg": "audio/ogg", "opus": "audio/ogg",
    "oga": "audio/ogg", "flac": "audio/flac", "m4a": "audio/mp4", "aac": "audio/aac",
    "aif": "audio/aiff", "aiff": "audio/aiff", "mid": "audio/midi", "mka": "audio/x-matroska",
    "mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm", "ogv": "video/ogg",
    "mkv": "video/x-matroska", "avi": "video/x-msvideo",
    "pdf": "application/pdf", "zip": "application/zip", "gz": "application/gzip",
    "tgz": "application/gzip", "bz2": "application/x-bzip2", "xz": "application/x-xz",
    "zst": "application/zstd", "7z": "application/x-7z-compressed", "tar": "application/x-tar",
    "sqlite": "application/vnd.sqlite3", "wasm": "application/wasm",
    "parquet": "application/vnd.apache.parquet", "epub": "application/epub+zip",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}  # fmt: skip

# What is a wrapping for many formats, with how the types begin that a name may make of it.
_WRAPPINGS = {
    "application/zip": ("application/",),
    "application/gzip": ("application/",),
    "application/vnd.sqlite3": ("application/",),
    "audio/ogg": ("audio/ogg", "video/ogg"),
    "video/mp4": ("audio/mp4", "video/"),
    "video/webm": ("audio/webm", "video/webm"),
    "video/x-matroska": ("audio/x-matroska", "video/"),
    "image/heif": ("image/heic", "image/avif"),
}

# Bytes that no text has: all controls but tab, line feed, form feed, carriage return and escape.
_CONTROLS = bytes(byte for byte in range(32) if byte not in b"\t\n\f\r\x1b")
_BLANKS = b" \t\r\n"


def sniffed(data: bytes) -> str | None:
    """The media type by the marks in the first bytes, or None. Takes no time on large data."""
    head = data[:_HEAD]
    for media, marks in _MARKS:
        if all(head.startswith(mark, at) for at, mark in marks):
            return media
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return "video/webm" if b"webm" in head else "video/x-matroska"
    if head.startswith(b"\0\0") and head.startswith(b"ftyp", 4):
        return _of_brand(head)
    if _is_mp3_frame(head):
        return "audio/mpeg"
    return SVG if _is_svg(data[:_PROLOG]) else None


def named(name: str) -> str | None:
    """The media type by the ending of a file name, or None."""
    _, dot, ending = name.rpartition(".")
    return _ENDINGS.get(ending.lower()) if dot else None


def media_type(data: bytes, name: str | None = None) -> str:
    """The media type of data that may have a name.

    The name counts if the bytes say nothing, or if it only makes plainer what they say: a `.docx`
    is a zip, but a JPEG that is called `.png` stays a JPEG.
    """
    by_bytes = sniffed(data)
    by_name = named(name) if name is not None else None
    if by_name is not None and (by_bytes is None or _refines(by_name, by_bytes)):
        return by_name
    if by_bytes is not None:
        return by_bytes
    return "text/plain" if is_text(data) else "application/octet-stream"


def is_text(data: bytes) -> bool:
    """Does this begin like UTF-8 text? The first 8 KiB are looked at."""
    head = data[:_SAMPLE]
    if len(head.translate(None, _CONTROLS)) != len(head):
        return False
    try:
        # A character that the sample cuts in two is no fault.
        utf_8_decode(head, "strict", len(data) <= _SAMPLE)
    except UnicodeDecodeError:
        return False
    return True


def text_of(data: bytes) -> str | None:
    """The data as text, if it is text to its end and of no format that only looks like it."""
    if sniffed(data) not in (None, SVG) or not is_text(data):
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def name_in(uri: str) -> str:
    """The last segment of a URI's path, which is nothing if there is no path."""
    _, _, rest = uri.partition("#")[0].partition("?")[0].partition(":")
    if rest.startswith("//"):
        _, _, rest = rest[2:].partition("/")
    return rest.rstrip("/").rpartition("/")[2]


def _refines(by_name: str, by_bytes: str) -> bool:
    return by_name.startswith(_WRAPPINGS.get(by_bytes, by_bytes))


def _of_brand(head: bytes) -> str:
    """The type of an ISO media file. AVIF may come under the common brand of still pictures."""
    media = _BRANDS.get(head[8:12], "video/mp4")
    return "image/avif" if media == "image/heif" and b"avif" in head[16:] else media


def _is_mp3_frame(head: bytes) -> bool:
    """A frame of layer III, with a bit rate and a sampling rate that exist. The mark of UTF-16,
    FF FE, would be layer I, which nobody uses."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2 or head[1] & 0x18 == 0x08:
        return False
    return head[2] & 0xF0 not in (0x00, 0xF0) and head[2] & 0x0C != 0x0C


def _is_svg(text: bytes) -> bool:
    """Is `svg` the first element, after declarations and comments?"""
    text = text.removeprefix(b"\xef\xbb\xbf").lstrip(_BLANKS)
    while text.startswith((b"<?", b"<!")):
        _, _, text = text.partition(b"-->" if text.startswith(b"<!--") else b">")
        # A document type may hold declarations of its own in brackets.
        text = text.lstrip(_BLANKS + b"]>")
    return text.startswith(tuple(b"<svg%c" % byte for byte in _BLANKS + b">/"))
