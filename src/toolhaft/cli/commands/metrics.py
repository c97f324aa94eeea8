"""`toolhaft metrics NAME|URL`: number and duration of the calls of a running server."""

import argparse
import contextlib
import http.client
import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from toolhaft_bridge.socket_directory import (
    NotAttached,
    Refused,
    ask,
    attached_now,
    check_name,
    connect,
    paths_of,
)

from ...observe.prometheus import table
from ...observe.totals import BOUNDS, Key, Measured, Page
from ..option_values import joined_headers
from ..shared.console import as_json, failed, show


class _Request(NamedTuple):
    """A request for metrics: the HTTP method for a URL, the command for an attached process."""

    verb: str
    ask: str


_READ = _Request("GET", "metrics")
_RESET = _Request("DELETE", "reset-metrics")
# Exit statuses.
_REFUSED = 4
_WRONG = 2
# Timeout, in seconds.
_SECONDS = 10
# Upper bound on a response, in bytes.
_MOST_BYTES = 64 * 1024 * 1024
_SAMPLE = re.compile(r"(?P<name>toolhaft_\w+)\{(?P<labels>.*)\} (?P<value>\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")
# Fields of `Measured`, besides `calls`, that an outcome label counts towards.
_OUTCOMES = {
    "ok": (),
    "error": ("errors",),
    "failure": ("errors", "failures"),
    "cancelled": ("cancelled",),
    "asked": ("asked",),
}


class NoMetrics(Exception):
    """Metrics are not available; the message says why."""


def execute(options: argparse.Namespace) -> int:
    """Print the metrics as tables, JSON or Prometheus text."""
    try:
        text = text_of(
            options.where, joined_headers(options.header), _RESET if options.reset else _READ
        )
        if options.text:
            show(text, end="")
            return 0
        pages = read(text)
    except NoMetrics as error:
        return failed(_REFUSED, str(error))
    except ValueError as error:
        return failed(_WRONG, str(error))
    show(_as_json(pages) if options.json else _as_tables(pages), end="")
    return 0


def text_of(where: str, headers: dict[str, str], request: _Request = _READ) -> str:
    """Fetch metrics in the text format of Prometheus, from a URL or an attached process.

    Raises:
        NoMetrics: there are none.
        ValueError: `where` is neither a URL nor a valid name.
    """
    if ":" in where or "/" in where:
        return _fetched(_url(where), headers, request.verb)
    if sys.platform == "win32":
        raise NoMetrics(
            f"{where!r} could only be the name of a process, which Windows has not: say an "
            "address, as in 127.0.0.1:8000"
        )
    check_name(where)
    for path in paths_of(where):
        try:
            return _asked(where, path, request.ask)
        except (ConnectionRefusedError, FileNotFoundError):
            continue  # its process has ended
    raise NoMetrics(
        f"no process named {where!r} is attached; {attached_now()}. A server over HTTP is named by "
        "its address, as in 127.0.0.1:8000"
    )


def _asked(name: str, path: str, question: str) -> str:
    """Fetch metrics from the socket of an attached process.

    Raises:
        ConnectionRefusedError, FileNotFoundError: the process has ended.
        NoMetrics: the process sends none.
    """
    try:
        with contextlib.closing(connect(path, _SECONDS)) as wire:
            return str(json.loads(ask(wire, question))["text"])
    except (ConnectionRefusedError, FileNotFoundError):
        raise
    except (OSError, NotAttached, Refused, ValueError, KeyError) as error:
        raise NoMetrics(f"the process {name!r} does not say: {error}") from None


def _url(where: str) -> str:
    url = where if "://" in where else f"http://{where}"
    if not url.startswith(("http://", "https://")) or not re.fullmatch(r"[!-~]+", url):
        raise ValueError(f"{where!r} is no URL; say it as in http://127.0.0.1:8000")
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    return url if path else f"{scheme}://{host}/metrics"


def _fetched(url: str, headers: dict[str, str], verb: str) -> str:
    request = urllib.request.Request(url, headers=headers, method=verb)
    try:
        with _opener(request.host).open(request, timeout=_SECONDS) as response:
            return str(response.read(_MOST_BYTES).decode("utf-8", "replace"))
    except urllib.error.HTTPError as error:
        with error:
            hint = {
                401: "; give --header 'Authorization: …'",
                404: "; was the server run with --metrics?",
                **dict.fromkeys((400, 405, 406), "; leave out the path, metrics have their own"),
            }.get(error.code, "")
            raise NoMetrics(f"{url} answers with {error.code} {error.reason}{hint}") from None
    except (OSError, http.client.HTTPException) as error:
        reason: object = getattr(error, "reason", None) or error
        if isinstance(reason, ConnectionRefusedError):
            raise NoMetrics(f"nothing listens at {url}") from None
        words = getattr(reason, "strerror", None) or reason
        raise NoMetrics(f"{url} cannot be reached: {words}") from None


def _opener(host: str) -> urllib.request.OpenerDirector:
    """Build an opener that uses no proxy for loopback addresses."""
    is_here = re.fullmatch(r"(localhost|127(\.\d+){3}|\[::1\])(:\d+)?", host)
    handlers = [urllib.request.ProxyHandler({})] if is_here else []
    return urllib.request.build_opener(*handlers)


# Reading


class _Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


def _samples(text: str) -> Iterator[_Sample]:
    for line in text.splitlines():
        found = _SAMPLE.fullmatch(line)
        if found is not None:
            labels = {name: _unescaped(value) for name, value in _LABEL.findall(found["labels"])}
            yield _Sample(found["name"], labels, float(found["value"]))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], text)


def read(text: str) -> list[Page]:
    """Parse metrics text into one page per server, path and worker.

    Raises:
        NoMetrics: the text has no metrics of toolhaft.
    """
    if "# TYPE toolhaft_calls_total counter" not in text:
        raise NoMetrics("what is there are no metrics of toolhaft")
    found: dict[tuple[tuple[str, str], ...], tuple[dict[Key, dict[str, Any]], dict[str, int]]] = {}
    for name, labels, value in _samples(text):
        whose = tuple((key, labels[key]) for key in ("server", "path", "worker") if key in labels)
        measured, notices = found.setdefault(whose, ({}, {}))
        method = labels.get("method", "")
        if name == "toolhaft_notifications_total":
            notices[method] = int(value)
            continue
        fields = measured.setdefault((method, labels.get("name")), {})
        _take(fields, name, labels, value)
    return [
        Page(
            dict(whose),
            {key: _measured(fields) for key, fields in measured.items()},
            notices,
        )
        for whose, (measured, notices) in found.items()
    ]


def _take(fields: dict[str, Any], name: str, labels: dict[str, str], value: float) -> None:
    if name == "toolhaft_calls_total":
        for field in ("calls", *_OUTCOMES.get(labels.get("outcome", ""), ())):
            fields[field] = fields.get(field, 0) + int(value)
    elif name == "toolhaft_calls_in_flight":
        fields["in_flight"] = int(value)
    elif name.endswith("_sum"):
        fields["seconds"] = value
    elif name.endswith("_bucket"):
        fields.setdefault("so_far", []).append(int(value))


def _measured(fields: dict[str, Any]) -> Measured:
    so_far: list[int] = fields.pop("so_far", [])
    if len(so_far) != len(BOUNDS) + 1:  # no histogram, or one of another version
        return Measured(**fields)
    steps = zip(so_far, [0, *so_far], strict=False)
    return Measured(**fields, buckets=tuple(now - before for now, before in steps))


# Writing


def _as_tables(pages: list[Page]) -> str:
    if not pages:
        return "nothing was called yet; of several workers, the one that answered says so\n"
    return "\n".join(
        f"{', '.join(f'{name} {value}' for name, value in page.labels.items())}\n\n"
        f"{table(page.measured, page.notices)}"
        for page in pages
    )


def _as_json(pages: list[Page]) -> str:
    shown = [
        {
            **page.labels,
            "requests": [
                {"method": method, **({} if name is None else {"name": name}), **_numbers(each)}
                for (method, name), each in page.measured.items()
            ],
            "notifications": dict(page.notices),
        }
        for page in pages
    ]
    return as_json(msgspec.to_builtins(shown))


def _numbers(each: Measured) -> dict[str, Any]:
    return {
        **msgspec.structs.asdict(each),
        "buckets": dict(zip(_BOUNDS, each.buckets, strict=True)),
    }


_BOUNDS = [*map(repr, BOUNDS), "+Inf"]
