"""Commands that run at once wait for each other."""

from pathlib import Path
from threading import Thread

from tests.cli.installing.desks import at_desk

from toolhaft.cli.installing.clients import CLIENTS, Wanted


def test_what_two_commands_do_at_once_is_remembered(tmp_path: Path) -> None:
    wanted = Wanted("notes", "/bin/toolhaft", ["attach", "notes"])
    clients = [CLIENTS[name] for name in ("cursor", "zed", "codex", "goose")]
    desks = [at_desk(str(tmp_path)) for _ in clients]
    for desk, client in zip(desks, clients, strict=True):
        path = desk.where(client, "user")
        path.parent.mkdir(parents=True)
        path.write_text("{ }\n" if client.format == "jsonc" else "")
    before = {client.id: desks[0].where(client, "user").read_text() for client in clients}
    steps = [
        desk.install(client, wanted, scope="user", via="file", force=False)
        for desk, client in zip(desks, clients, strict=True)
    ]
    threads = [
        Thread(target=desk.do, args=(step,)) for desk, step in zip(desks, steps, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    known = at_desk(str(tmp_path)).receipts
    remembered = {
        client.id: known.names(step.path) for client, step in zip(clients, steps, strict=True)
    }
    for client in clients:
        desk = at_desk(str(tmp_path))
        desk.do(desk.uninstall(client, "notes", scope="user", via="file", force=False))

    assert remembered == {key: ["notes"] for key in before}
    assert {client.id: desk.where(client, "user").read_text() for client in clients} == before
