"""`toolhaft run TARGET`: serve a file or module over stdio or HTTP."""

import argparse
import os

from ...process import early_interrupt, private_fds
from ...protocol.ports import Traffic
from ...serve.listener import Listener
from ...server.server import Server
from ..http_settings_check import as_flags, changed_http_options, check_unused
from ..shared.console import failed
from ..shared.output_files import cannot_write
from ..target import BadTarget, load_for_http, load_for_stdio


def execute(options: argparse.Namespace) -> int:
    """Serve until the client closes its side or a signal arrives."""
    over_http = options.http is not None or options.uds is not None
    try:
        if options.http is not None and options.uds is not None:
            raise BadTarget("--http and --uds are two places to listen; choose one")
        if not over_http:
            # Before the author's code is imported: its output must not reach the client.
            private_fds.take()
        if options.directory is not None:
            os.chdir(options.directory)
        if over_http:
            early_interrupt.install_handler()
        found = _loaded_for_http(options) if over_http else load_for_stdio(options.target)
        option = "--log-traffic" if options.log_traffic else "TOOLHAFT_LOG"
        log = options.log_traffic or os.environ.get("TOOLHAFT_LOG")
        if isinstance(found, Listener):
            if options.log_traffic:
                raise BadTarget("--log-traffic: say it to each server, Server(log_traffic=…)")
            return _listener(found, options)
        if log:
            found.traffic = _traffic(log, option)
        if over_http:
            return _over_http(found, options)
        _check_unused(options)
        return _over_stdio(found, options)
    except (BadTarget, OSError, ValueError, ModuleNotFoundError) as error:
        return failed(2, _told(error))


def _told(error: Exception) -> str:
    """Return the message of an error, without the errno."""
    if not isinstance(error, OSError) or error.filename is not None:
        return str(error)
    return error.strerror or str(error)


def _traffic(path: str, option: str) -> Traffic:
    """Open the traffic log, so that a file that cannot be written fails before serving."""
    from ...traffic import TrafficLog  # noqa: PLC0415

    log = TrafficLog(path)
    try:
        log.open()
    except OSError as error:
        raise BadTarget(f"{option}: {cannot_write(path, error)}") from error
    return log


def _listener(listener: Listener, options: argparse.Namespace) -> int:
    if options.http is not None or options.uds is not None:
        raise BadTarget(f"{options.target} is a Listener, and says itself where it listens")
    _check_unused(options, but="workers")
    private_fds.give_back()
    listener.run(workers=options.workers)
    return 0


def _check_unused(options: argparse.Namespace, *, but: str | None = None) -> None:
    """Refuse HTTP options over stdio and with a `Listener`, which has its own."""
    used = [name for name in changed_http_options(options) if name != but]
    if used and but is not None:
        raise BadTarget(f"{as_flags(used)}: {options.target} is a Listener, and has its own")
    if used:
        raise BadTarget(f"{as_flags(used)}: only over HTTP; say where, as in --http 127.0.0.1:8000")


def _loaded_for_http(options: argparse.Namespace) -> Server | Listener:
    loaded = load_for_http(options.target)
    if isinstance(loaded.found, Server):
        check_unused(loaded, options)
    return loaded.found


def _over_stdio(server: Server, options: argparse.Namespace) -> int:
    from ...serve.early_start import start_early  # noqa: PLC0415

    begun = start_early(server, options.framing)
    from ...serve.over_stdio import run_stdio  # noqa: PLC0415

    run_stdio(server, begun, last=True)
    return 0


def _over_http(server: Server, options: argparse.Namespace) -> int:
    bind = options.http if options.uds is None else f"unix:{options.uds}"
    listener = Listener(
        bind,
        {options.path: server},
        sessions=options.sessions,
        allow_hosts=options.allow_host,
        allow_origins=options.allow_origin,
        legacy_sse=options.legacy_sse,
        tls=None if options.tls is None else tuple(options.tls),
        runner=options.runner,
        metrics=options.metrics,
    )
    listener.run(workers=options.workers)
    return 0
