"""`toolhaft install CLIENT… TARGET`: put a server into the configuration of clients."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from toolhaft_bridge.socket_directory import check_name, directories

from ..installing.change_plan import (
    WrongWords,
    carry_out,
    clients_of,
    worked_out,
)
from ..installing.clients import CLIENTS, Client, Wanted
from ..installing.configured_entries import Reader
from ..installing.detection import found
from ..installing.editors.text_edits import Unclear
from ..installing.exit_codes import CANNOT_CHANGE, NO_ANSWER, WRONG_COMMAND, failed, say
from ..installing.installer import Desk, Step
from ..installing.machine import this_machine
from ..installing.start_trial import NoAnswer, launcher, start
from ..installing.variable_references import refers, resolved
from ..target_syntax import is_project, parts_of

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


def execute(options: argparse.Namespace) -> int:
    """Check the server, plan the changes for all clients, then apply or show them."""
    machine = this_machine()
    try:
        has_target = options.attach is None and options.http is None
        *words, target = [*options.words] if has_target and options.words else [*options.words, ""]
        if has_target and (not target or target in CLIENTS):
            raise WrongWords("name a server after the clients, as in install cursor server.py")
        present = found(machine, Reader(machine).receipts)
        clients = clients_of(words, present if options.all else None)
        wanted = _wanted(options, target)
        _check_name(wanted.name)
        if has_target and not options.no_check:
            wanted = _tried(wanted, clients, options)

        def work(desk: Desk, client: Client) -> Step:
            return desk.install(
                client, wanted, scope=options.scope, via=options.via, force=options.force
            )

        desk = Desk(machine)
        steps = worked_out(desk, clients, options.scope, work, all_of_them=options.all)
        carry_out(desk, steps, dry_run=options.dry_run)
        if not options.dry_run:
            added = [step.client for step in steps]
            _tell_unchecked([each for each in added if each not in present], wanted, options)
            _warn(added, wanted)
    except WrongWords as error:
        return failed(WRONG_COMMAND, str(error))
    except NoAnswer as error:
        hint = "variables are given by --env, and --no-check installs it all the same"
        return failed(NO_ANSWER, f"started as a client does it, the server fails: {error}\n{hint}")
    except Unclear as error:
        return failed(CANNOT_CHANGE, str(error))
    return 0


def _wanted(options: argparse.Namespace, target: str) -> Wanted:
    env = dict(options.env)
    if options.http is not None:
        return _remote(options, env)
    if options.attach is not None:
        return _attached(options, env)
    words = [*launcher(), "run", *_run_words(target, options.directory)]
    return Wanted(options.name or _name_of(target), words[0], words[1:], env)


def _name_of(target: str) -> str:
    """Derive the name of an entry from the target, for a server that is not started."""
    if is_project(target):
        return _spelled(Path(target).resolve().name)
    return _spelled(Path(parts_of(target)[0]).stem)


def _attached(options: argparse.Namespace, env: dict[str, str]) -> Wanted:
    if sys.platform == "win32":
        raise WrongWords("attach is not supported on Windows yet")
    if options.directory is not None:
        raise WrongWords("--directory is for servers that the client starts")
    try:
        check_name(options.attach)
    except ValueError as error:
        raise WrongWords(str(error)) from None
    words = [*launcher(), "attach", options.attach]
    name = options.name or _spelled(options.attach)
    return Wanted(name, words[0], words[1:], {**_whereabouts(), **env})


def _whereabouts() -> dict[str, str]:
    """Return the variable that locates the socket directory, if a bridge needs it to find that."""
    here, *_ = directories()
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        known = {name: os.environ.get(name, "")}
        if here not in directories({}) and here in directories(known):
            return known
    return {}


def _remote(options: argparse.Namespace, env: dict[str, str]) -> Wanted:
    if not options.http.startswith(("http://", "https://")):
        raise WrongWords(f"{options.http!r} is no URL; write it as in https://example.org/mcp")
    if options.name is None:
        raise WrongWords("a server elsewhere needs a --name")
    if env or options.directory is not None:
        raise WrongWords("--env and --directory are for servers that the client starts")
    return Wanted(options.name, url=options.http)


def _run_words(target: str, directory: str | None) -> list[str]:
    """Return the target and `--directory` with absolute paths, valid in any working directory."""
    where, name = parts_of(target)
    if is_project(target):
        where, name = os.path.abspath(target), ""
    elif where.endswith(".py"):
        if not os.path.isfile(where):
            raise WrongWords(f"there is no file {where!r}")
        where = os.path.abspath(where)
    elif directory is None and not _is_installed(where):
        directory = os.getcwd()
    words = [f"{where}:{name}" if name else where]
    if directory is None:
        return words
    if not os.path.isdir(directory):
        raise WrongWords(f"there is no folder {directory!r}")
    return [*words, "--directory", os.path.abspath(directory)]


def _is_installed(module: str) -> bool:
    """Test whether a module can be imported from any working directory."""
    elsewhere = [path for path in sys.path if os.path.abspath(path) != os.getcwd()]
    return PathFinder.find_spec(module.partition(".")[0], elsewhere) is not None


def _tried(wanted: Wanted, clients: Sequence[Client], options: argparse.Namespace) -> Wanted:
    words = [wanted.command, *wanted.args]
    env = resolved(wanted.env, clients, os.environ)
    found = start(words, env, seconds=options.timeout)
    tools = f"{found.tools} tool{'' if found.tools == 1 else 's'}"
    say(f"{found.name}: starts, and has {tools}")
    return wanted if options.name else wanted._replace(name=_spelled(found.name))


def _spelled(name: str) -> str:
    """Replace the characters that some client does not accept in a name."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:64] or "server"


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise WrongWords(
            f"{name!r} is no name for an entry: up to 64 letters, digits, - and _; see --name"
        )


def _tell_unchecked(absent: Sequence[Client], wanted: Wanted, options: argparse.Namespace) -> None:
    """Report servers that were not started and clients that were not found."""
    target = options.http or (options.attach and f"--attach {options.attach}")
    if target:
        say(f"{wanted.name}: was not tried; this asks it: toolhaft list {target}")
    for client in absent:
        say(f"{client.id}: was not found on this machine, so nobody has seen it read that file")


def _warn(clients: Sequence[Client], wanted: Wanted) -> None:
    """Report secrets written to files of clients that support references to variables."""
    secrets = {name: value for name, value in wanted.env.items() if _SECRET.search(name)}
    for client in clients:
        plain = [name for name, value in secrets.items() if not refers(value, client)]
        if plain and client.reference:
            instead = client.reference.replace("NAME", plain[0])
            say(
                f"{client.id}: {', '.join(plain)} is now in the file for all to read who may; "
                f"--env '{plain[0]}={instead}' would name it only"
            )
