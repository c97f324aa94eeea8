"""Paths below a folder, made of what a client sent."""

import re
from pathlib import Path

from .errors import NotFound, shown

__all__ = ["safe_join"]

_FORBIDDEN = re.compile(r"[\\\0]")
_DRIVE = re.compile(r"[A-Za-z]:")


def safe_join(root: str | Path, *parts: str) -> Path:
    """The path of something below a folder, with all links followed.

    The parts are taken literally: `%2e%2e` is a name like any other, and so is `~`. What is asked
    for need not exist, so that it can be created. No parts, or empty ones, are the folder itself.

    Raises:
        NotFound: the parts lead out of the folder, by themselves or through a link.
        ValueError: the root is no folder.
    """
    try:
        base = Path(root).resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise ValueError(f"safe_join: the root {str(root)!r} cannot be used: {error}") from None
    if not base.is_dir():
        raise ValueError(f"safe_join: the root {str(root)!r} is no folder")
    path = base.joinpath(*_segments(parts))
    # Between this look and the moment the path is opened, whoever may write below the root can put
    # a link in place of a folder, and the path leads elsewhere. All links that were there are
    # followed already, so nothing else can; only opening segment by segment with O_NOFOLLOW would
    # close that gap. Hard links cannot be told from files. So: a root where strangers may write,
    # other than through this server, is not safe.
    try:
        resolved = path.resolve()
        is_loop = resolved.is_symlink()  # from 3.13 on, loops are left in place and not raised
    except (OSError, RuntimeError, ValueError):  # loops, and names that no file can have
        raise _refusal(parts) from None
    if is_loop or not resolved.is_relative_to(base):
        raise _refusal(parts)
    return resolved


def _segments(parts: tuple[str, ...]) -> list[str]:
    segments: list[str] = []
    for part in parts:
        if not isinstance(part, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"safe_join: parts are str, not {type(part).__name__}")
        if part.startswith("/") or _FORBIDDEN.search(part):
            raise _refusal(parts)
        segments += [segment for segment in part.split("/") if segment not in ("", ".")]
    if any(_leads_out(segment) for segment in segments):
        raise _refusal(parts)
    return segments


def _leads_out(segment: str) -> bool:
    """Windows drops dots and blanks at the end of a name, so `.. ` would be `..` there."""
    return _DRIVE.match(segment) is not None or not segment.strip(" .")


def _refusal(parts: tuple[str, ...]) -> NotFound:
    """Says what was asked for, and nothing about this machine."""
    return NotFound(f"not found: {shown('/'.join(parts))}")
