"""Contracts: a file that says what a server lists, and a test that fails when it lists else."""

import asyncio
import inspect
import os
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, cast

from toolhaft_bridge.outputs import replace

from ...client.request_meta import envelope
from ...metrics import Metrics
from ...protocol.handshake import Session
from ...protocol.revisions import REVISIONS, SUPPORTED
from ...schema.validation.messages import counted
from ...serve.over_stdio import handle_message
from ...server.server import Server
from ..requests import INFO
from .differences import Difference, differences
from .snapshot import Json, listed, read, written

UPDATE = "TOOLHAFT_UPDATE_CONTRACT"
_PATIENCE = 60
_NO = ("", "0", "false", "no")


class ContractChanged(AssertionError):
    """A server does not list what its contract says; the message says what has changed."""

    def __init__(self, message: str, found: list[Difference]) -> None:
        super().__init__(message)
        self.differences = found


def assert_contract(
    server: Server | Json, path: str | os.PathLike[str], *, update: bool | None = None
) -> None:
    """Does a server list what the file says? The first time, the file is written.

    In a plain test and in an `async` one alike.

    Args:
        server: or what `contract_of` gave, of a server that only its own loop can list.
        path: of the file; beside the file of the caller, unless it is absolute.
        update: write the file as things are now. By default, if the test is run with
            `--update-contract`, or with TOOLHAFT_UPDATE_CONTRACT=1.

    Raises:
        TypeError: this is neither a server nor what one lists.
        ContractChanged: it lists something else; or there is no file, and CI will not keep one.
    """
    __tracebackhide__ = True
    if not isinstance(server, Server | dict):  # pyright: ignore[reportUnnecessaryIsInstance]
        kind = type(server).__name__
        raise TypeError(f"a contract is of a Server, or what contract_of gave, not of {kind}")
    file = _beside(path, inspect.stack(0)[1].filename)
    now = _now(contract_of(server)) if isinstance(server, Server) else server
    if is_set(UPDATE) if update is None else update:
        write_contract(file, now)
        return
    if not file.exists():
        if is_set("CI"):
            raise ContractChanged(
                f"{file} is not there; run the test once where it is kept, and commit it", []
            )
        write_contract(file, now)
        return
    found = differences(read(file.read_text(encoding="utf-8"), str(file)), now)
    if found:
        raise ContractChanged(f"{report(found, file.name)}\n\n{_ADVICE}", found)


_ADVICE = (
    "If that is what you want, write the file anew with pytest --update-contract, or with\n"
    f"{UPDATE}=1, and commit it."
)


async def contract_of(server: Server) -> Json:
    """Everything that a server lists, in the form in which contracts are written."""
    service = _Listing(server)
    session = Session()

    meta = envelope(REVISIONS[SUPPORTED[0]], {}, INFO)

    async def request(method: str, params: Json) -> Json:
        message: Json = {"jsonrpc": "2.0", "id": 1, "method": method}
        message["params"] = {**params, "_meta": meta}
        answer = await handle_message(service, message, session)
        assert answer is not None, "a request has an answer"
        if "error" in answer:
            raise AssertionError(f"{method} failed: {answer['error']['message']}")
        return cast(Json, answer["result"])

    return await listed(request)


def write_contract(file: Path, contract: Json) -> None:
    """Write a contract, if it is not what the file says already."""
    text = written(contract)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        replace(str(file), text.encode())


def report(found: list[Difference], name: str) -> str:
    """What has changed, for people."""
    broken = [each for each in found if each.breaks]
    fine = [each for each in found if not each.breaks]
    judged = f"{len(broken) or 'none'} of them {'breaks' if len(broken) == 1 else 'break'} clients"
    lines = [f"{name}: {counted(len(found), 'change')}, {judged}"]
    for title, some in (("breaks clients", broken), ("breaks nobody", fine)):
        if some:
            lines += ["", f"{title}:", *(f"  {each}" for each in some)]
    return "\n".join(lines)


def _beside(path: str | os.PathLike[str], caller: str) -> Path:
    here = Path(caller)
    return (here.parent if here.is_file() else Path.cwd()) / path


def is_set(name: str) -> bool:
    """Does a variable of the environment say yes?"""
    return os.environ.get(name, "").lower() not in _NO


def _now(listing: Coroutine[Any, Any, Json]) -> Json:
    """Run it to its end: here, or on a thread if this one has a loop that is running."""
    found: list[Json] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(asyncio.run(asyncio.wait_for(listing, _PATIENCE)))
        except BaseException as error:
            failed.append(error)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        run()
    else:
        thread = threading.Thread(target=run, name="toolhaft-contract", daemon=True)
        thread.start()
        thread.join()
    if failed:
        raise failed[0]
    return found[0]


class _Listing:
    """A server without its lifespan, which lists do not wait for: it may belong to another loop."""

    lifespan = None
    traffic = None

    def __init__(self, server: Server) -> None:
        self.name = server.name
        self.info = server.info
        self.stateless = server.stateless
        self.limits = server.limits
        self.thread_pool = server.thread_pool
        self.store = server.store
        self.changes = server.changes
        self.dispatch = server.dispatch
        self.mask = server.mask
        # To look at a server is not to use it.
        self.metrics = Metrics(server.name, lambda _: None)
