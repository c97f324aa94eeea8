"""Optimisations that can be switched off in a server under measurement.

A switch replaces an optimisation by its plain equivalent before the server starts. Nothing of this
is part of the library. A rename cannot make a switch a no-op unnoticed: what it replaces must exist
and raises if it is executed all the same, and the replacement reports its first use.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

Report = Callable[[], None]

# Modules that the library imports inside of functions, separated by commas.
DEFERRED = "BENCH_DEFERRED"


@dataclass(frozen=True)
class Switch:
    """One optimisation, and how to do without it.

    Args:
        rows: the workloads that are measured with and without it.
        apply: called in the process of the server, before it is loaded; what it is given is called
            when the replacement is used.
        since: the Python that is needed.
    """

    meaning: str
    rows: tuple[str, ...]
    apply: Callable[[Report], None]
    since: tuple[int, int] = (3, 11)


def replace(owner: Any, name: str, new: Any) -> None:
    """Replace what exists.

    Raises:
        AttributeError: there is nothing of this name.
    """
    getattr(owner, name)
    setattr(owner, name, new)


def forbid(owner: Any, name: str) -> None:
    """Make a function fail that must not be executed any more."""

    def fail(*args: object, **kwargs: object) -> None:
        raise AssertionError(f"{name} is executed, although it is switched off")

    replace(owner, name, fail)


def replace_function(owner: Any, name: str, new: Callable[..., Any], *, report: Report) -> None:
    """Replace a function. The first call reports; those after it cost nothing more."""

    def first(*args: Any, **kwargs: Any) -> Any:
        setattr(owner, name, new)
        report()
        return new(*args, **kwargs)

    replace(owner, name, first)


def _start_calls_as_tasks(report: Report) -> None:
    from task_per_call import TaskPerCall  # noqa: PLC0415 - loads asyncio

    _start_calls_by(TaskPerCall, report)


def _start_calls_by_the_standard_library(report: Report) -> None:
    from task_per_call import StandardEagerTasks  # noqa: PLC0415 - loads asyncio

    _start_calls_by(StandardEagerTasks, report)


def _start_calls_by(starter: Any, report: Report) -> None:
    forbid(import_module("toolhaft.process.eager_tasks").EagerTasks, "start")
    replace(import_module("toolhaft.calls.driver"), "EagerTasks", starter)
    replace_function(starter, "start", starter.start, report=report)


def _read_by_add_reader(report: Report) -> None:
    from reader_loop import ReaderLoop, Readers  # noqa: PLC0415 - loads asyncio

    forbid(import_module("toolhaft.process.inline_loop").InlineSelector, "select")
    replace(import_module("toolhaft.serve.over_stdio"), "Loop", ReaderLoop)
    replace_function(Readers, "listen", Readers.listen, report=report)


def _answer_through_asgi(report: Report) -> None:
    protocol = import_module("toolhaft.transports.http.servers.uvicorn_protocol").Protocol
    forbid(protocol, "_deliver")
    forbid(protocol, "_answer_matched")
    replace_function(protocol, "_may_answer_inline", lambda self: False, report=report)


def _parse_each_head(report: Report) -> None:
    module = import_module("toolhaft.transports.http.servers.uvicorn_protocol")
    forbid(module, "head_matcher")
    forbid(module.Protocol, "_answer_matched")
    replace_function(module.Protocol, "_remember_head", lambda self, data: None, report=report)


def _load_before_the_handshake(report: Report) -> None:
    forbid(import_module("toolhaft.transports.stdio.early_handshake"), "_answer")
    module = import_module("toolhaft.serve.early_start")
    replace_function(module, "answer_handshake", lambda *args, **kwargs: b"", report=report)


def _import_all(report: Report) -> None:
    import_module("toolhaft").Server  # noqa: B018 - loads what a server's first line loads
    before = len(sys.modules)
    for name in os.environ[DEFERRED].split(","):
        try:
            import_module(name)
        except ImportError:  # an extra that is not installed
            continue
    if len(sys.modules) > before:
        report()


_STDIO = ("call", "call-64")
_HTTP = ("http-json-2026", "http-json-2026-32")

SWITCHES = {
    "eager-start": Switch(
        "a task for each call instead of an eager start", (*_STDIO, *_HTTP), _start_calls_as_tasks
    ),
    "own-eager-start": Switch(
        "eager start by the standard library (Python 3.12) instead of our own",
        (*_STDIO, *_HTTP),
        _start_calls_by_the_standard_library,
        since=(3, 12),
    ),
    "inline-reading": Switch(
        "stdin read by `add_reader` instead of inside the selector",
        (*_STDIO, "sync"),
        _read_by_add_reader,
    ),
    "short-http-path": Switch(
        "every request over HTTP through ASGI",
        (*_HTTP, "http-json-2025", "http-sync"),
        _answer_through_asgi,
    ),
    "head-cache": Switch(
        "every HTTP head parsed", (*_HTTP, "http-json-2025", "http-json-2025-32"), _parse_each_head
    ),
    "early-handshake": Switch(
        "the handshake answered after asyncio is loaded",
        ("start-cpu", "ready-cpu"),
        _load_before_the_handshake,
    ),
    "deferred-imports": Switch(
        "every module imported at the start", ("start-cpu", "ready-cpu"), _import_all
    ),
}
