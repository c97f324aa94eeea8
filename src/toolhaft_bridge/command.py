"""The `toolhaft` command: `attach` starts a bridge here, all other commands are in `toolhaft.cli`.

The arguments of `attach` are parsed by hand: importing argparse takes longer than starting a
bridge.
"""

import os
import sys

from .bridge import WRONG, Bridge, Silent
from .socket_directory import check_name, check_path
from .streams import complain

_TEXTS = ("--socket", "--init", "--stop", "--log")
_INTERRUPTED = 130
# Seconds that stand for "no limit".
_EVER = 10.0**9


class _Wrong(Exception):
    """A wrong command line; the message names the wrong argument."""


def main() -> int:
    """Run the command and return its exit status."""
    given = sys.argv[1:]
    if given[:1] == ["attach"] and not {"-h", "--help"} & set(given):
        return attach(given[1:])
    from toolhaft.cli import main as others  # noqa: PLC0415

    return others(given)


def attach(words: list[str]) -> int:
    """Run a bridge and return its exit status."""
    try:
        return _bridge(words).run()
    except _Wrong as error:
        complain(str(error))
        return WRONG
    except KeyboardInterrupt:
        return _INTERRUPTED


def _bridge(words: list[str]) -> Bridge:
    if sys.platform == "win32":
        raise _Wrong("attach is not supported on Windows yet: it needs Unix sockets")
    given, wait = _read(words)
    name, path = given.get("NAME"), given.get("--socket")
    if (name is None) == (path is None):
        raise _Wrong("attach needs a NAME or a --socket; toolhaft ps shows who is attached")
    for option in ("--init", "--stop"):
        if option in given and not _is_reference(given[option]):
            raise _Wrong(f"{option}: {given[option]!r} is not MODULE:FUNCTION")
    try:
        if name is not None:
            check_name(name)
        elif path is not None:
            check_path(path)
    except ValueError as error:
        raise _Wrong(str(error)) from None
    return Bridge(
        name=name,
        path=path,
        wait=wait,
        init=given.get("--init"),
        stop=given.get("--stop"),
        traffic=_traffic(given.get("--log") or os.environ.get("TOOLHAFT_LOG")),
    )


def _read(words: list[str]) -> tuple[dict[str, str], float | None]:
    given: dict[str, str] = {}
    wait: float | None = None
    left = list(words)
    while left:
        word, equals, value = left.pop(0).partition("=")
        if word == "--wait":
            if not equals and left and _is_number(left[0]):
                value = left.pop(0)
            wait = _seconds(value) if value else _EVER
            if wait is None:
                raise _Wrong(f"--wait: {value!r} is no number of seconds")
        elif word in _TEXTS:
            if not equals and not left:
                raise _Wrong(f"{word} needs a value")
            given[word] = value if equals else left.pop(0)
        elif word.startswith("-") or "NAME" in given:
            raise _Wrong(f"attach does not understand {word!r}; toolhaft attach --help says more")
        else:
            given["NAME"] = word + equals + value
    return given, wait


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < _EVER else None


def _is_number(text: str) -> bool:
    return text.lstrip("-+")[:1].isdigit()


def _is_reference(text: str) -> bool:
    module, colon, function = text.partition(":")
    parts = [*module.split("."), *function.split(".")]
    return bool(colon) and all(part.isidentifier() for part in parts)


def _traffic(path: str | None) -> Silent:
    if not path:
        return Silent()
    from .traffic import Traffic  # noqa: PLC0415

    try:
        return Traffic(path)
    except OSError as error:
        raise _Wrong(f"cannot write the log {path!r}: {error.strerror}") from None
