"""Every example runs, by its own command and in a process of its own."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.transports.http.asgi import Client as Visitor
from tests.transports.http.asgi import SessionClient, StatelessClient, initialize, request

from toolhaft.testing import Client, SyncClient, assert_error

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


def run(*command: str, sends: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        input=sends,
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )


def lines_of(output: str, mark: str) -> list[dict[str, Any]]:
    return [json.loads(line[3:]) for line in output.splitlines() if line.startswith(mark + " ")]


def test_there_is_no_example_that_is_not_tested() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == {
        "birds.py",
        "cart.py",
        "crypto.py",
        "demo.py",
        "everything.py",  # in tests/conformance
        "factorial.py",  # these three in tests/server
        "files.py",
        "living_notebook.py",  # in tests/transports/attach
        "notes.py",
        "try_demo.py",
        "weather.py",
    }


def test_the_page_of_proof_shows_how_the_demo_ends() -> None:
    page = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")

    shown = run("examples/try_demo.py")

    *_, last = shown.stdout.split("# the same without a handshake")
    assert f"\n# the same without a handshake{last}$ ./dev test\n" in page


def test_the_demo_serves_when_it_is_run_as_a_script() -> None:
    with SyncClient.stdio("python examples/demo.py", cwd=ROOT) as client:
        assert client.call("add", a=1, b=2) == 3

    assert client.stderr == ""


def test_trying_the_demo_shows_both_sides_of_the_wire() -> None:
    shown = run("examples/try_demo.py")

    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""
    sent, received = lines_of(shown.stdout, "->"), lines_of(shown.stdout, "<-")
    assert [message["method"] for message in sent] == [
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/call",
        "tools/call",
    ]
    assert [message["id"] for message in received] == [1, 2, 3, 4]
    assert received[0]["result"]["protocolVersion"] == "2025-11-25"
    assert received[2]["result"]["structuredContent"] == {"result": 3}
    assert received[3]["result"]["structuredContent"] == 3
    assert shown.stdout.count("# 1 + 2 = 3\n") == 2
    assert shown.stdout.endswith("# the server has ended with status 0\n")


def test_trying_the_demo_works_from_any_folder(tmp_path: Path) -> None:
    shown = subprocess.run(
        [sys.executable, str(EXAMPLES / "try_demo.py")],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )

    assert shown.returncode == 0, shown.stderr


# Over HTTP

SESSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def load(name: str) -> ModuleType:
    """A fresh copy of an example."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["weather", "crypto", "cart"])
def test_the_services_serve_http_when_they_are_run_as_scripts(name: str) -> None:
    with subprocess.Popen(
        [sys.executable, f"examples/{name}.py"],
        cwd=ROOT,
        env={**os.environ, "HTTP_PORT": "0"},
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/mcp", said)
            assert found is not None, said
            token = {"Authorization": "Bearer alice-token"}
            with SyncClient.http(found.group(), revision="2025-11-25", headers=token) as client:
                served = client.server_info.name
        finally:
            process.send_signal(signal.SIGTERM)

    assert process.returncode == 0
    assert served == name


def weather(revision: str) -> Client:
    return Client.asgi(load("weather").server.asgi(), revision=revision)


@pytest.mark.parametrize("revision", [*SESSIONS, "2026-07-28"])
async def test_the_weather_is_told_in_every_revision(revision: str) -> None:
    async with weather(revision) as client:
        now = await client.call_raw("get_current_weather", {"city": "Delft"})
        days = await client.call_raw("get_weather_forecast", {"location": "Delft", "days": 3})

    assert json.loads(now.text) == {
        "location": "Delft",
        "temperature": 25.5,
        "humidity": 42,
        "pressure": 1029,
        "sky": "sunny",
    }
    assert [day["day"] for day in json.loads(days.text)["days"]] == [0, 1, 2]


async def test_the_weather_is_structured() -> None:
    async with weather("2025-11-25") as client:
        result = await client.call_raw("get_weather_forecast", {"location": "Delft", "days": 1})

    assert result.structured == json.loads(result.text)


async def test_the_weather_needs_no_session() -> None:
    client = SessionClient(load("weather").server.asgi())

    assert (await client.tool("get_current_weather", city="Delft")).status == 200


async def test_the_weather_is_the_same_for_the_same_question() -> None:
    asked = {"location": "Oslo", "days": 14}
    async with weather("2026-07-28") as first, weather("2026-07-28") as second:
        told = [await client.call("get_weather_forecast", asked) for client in (first, second)]

    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("get_current_weather", {"city": " "}, "say where: the name of a city, such as Delft"),
        (
            "get_weather_forecast",
            {"location": "Delft", "days": 15},
            "invalid arguments for get_weather_forecast:\ndays: must be at most 14, got 15",
        ),
    ],
)
async def test_what_the_weather_service_refuses(
    tool: str, arguments: dict[str, Any], told: str
) -> None:
    async with weather("2025-11-25") as client:
        answer = await client.call_raw(tool, arguments)

    assert (answer.is_error, answer.text) == (True, told)


class Shop:
    """The cart, as its script serves it."""

    def __init__(self) -> None:
        cart = load("cart")
        self.app = cart.server.asgi(sessions="stateful", guard=cart.guard)

    def opened(self, name: str, revision: str = "2025-11-25") -> Client:
        headers = {"authorization": f"Bearer {name}-token"}
        return Client.asgi(self.app, revision=revision, headers=headers)

    async def customer(self, name: str, revision: str = "2025-11-25") -> SessionClient:
        client = SessionClient(self.app, authorization=f"Bearer {name}-token")
        await client.shake(revision)
        return client


async def cart_of(client: SessionClient) -> dict[str, Any]:
    cart: dict[str, Any] = json.loads((await client.tool("list_items")).text)
    return cart


@pytest.mark.parametrize("revision", SESSIONS)
async def test_a_cart_is_kept_from_call_to_call(revision: str) -> None:
    async with Shop().opened("alice", revision) as alice:
        await alice.call("add_item", item="tea")
        await alice.call("add_item", item="milk", quantity=2)
        await alice.call("add_item", item="tea")
        full = await alice.call_raw("list_items")
        await alice.call("remove_item", item="tea")
        less = await alice.call_raw("list_items")

    assert json.loads(full.text) == {
        "owner": "alice",
        "items": {"tea": 2, "milk": 2},
        "total": 878,
    }
    assert json.loads(less.text) == {"owner": "alice", "items": {"milk": 2}, "total": 238}


async def test_alice_and_bob_have_carts_of_their_own() -> None:
    shop = Shop()
    async with shop.opened("alice") as alice, shop.opened("bob") as bob:
        await alice.call("add_item", item="tea")
        await bob.call("add_item", item="bread")
        of_alice, of_bob = await alice.call("list_items"), await bob.call("list_items")

    assert of_alice == {"owner": "alice", "items": {"tea": 1}, "total": 320}
    assert of_bob == {"owner": "bob", "items": {"bread": 1}, "total": 265}


async def test_bob_cannot_use_the_session_of_alice() -> None:
    shop = Shop()
    alice, bob = await shop.customer("alice"), await shop.customer("bob")
    await alice.tool("add_item", item="tea")
    bob.session = alice.session
    ended = await bob.end()

    assert (await bob.tool("list_items")).status == 404
    assert ended.status == 404
    assert (await cart_of(alice))["items"] == {"tea": 1}


async def test_nobody_else_is_served() -> None:
    shop = Shop()
    answers = [
        await Visitor(shop.app).post(initialize()),
        await Visitor(shop.app, authorization="Bearer carol-token").post(initialize()),
        await Visitor(shop.app, authorization="Basic alice-token").post(initialize()),
    ]

    assert [answer.status for answer in answers] == [401, 401, 401]
    assert answers[0].headers["www-authenticate"] == "Bearer"


async def test_a_cart_needs_a_session() -> None:
    shop = Shop()
    token = {"authorization": "Bearer alice-token"}
    without = await Visitor(shop.app, **token).post(request(1, "tools/call", name="list_items"))
    newer = await StatelessClient(shop.app, **token).tool("list_items")

    assert without.status == 400
    assert (newer.status, newer.code) == (400, -32022)


async def test_a_cart_is_gone_with_its_session() -> None:
    shop = Shop()
    alice = await shop.customer("alice")
    await alice.tool("add_item", item="tea")
    assert (await alice.end()).status == 204
    gone = await alice.tool("list_items")
    again = await shop.customer("alice")

    assert gone.status == 404
    assert (await cart_of(again))["items"] == {}


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("add_item", {"item": "gold"}, "we have no 'gold'; we have tea, milk, bread"),
        ("remove_item", {"item": "tea"}, "there is no 'tea' in the cart"),
        (
            "add_item",
            {"item": "tea", "quantity": 0},
            "invalid arguments for add_item:\nquantity: must be at least 1, got 0",
        ),
    ],
)
async def test_what_the_cart_refuses(tool: str, arguments: dict[str, Any], told: str) -> None:
    async with Shop().opened("alice") as client:
        answer = await client.call_raw(tool, arguments)

    assert (answer.is_error, answer.text) == (True, told)


# Crypto, which answers its list and its calls itself


def crypto(revision: str) -> Client:
    return Client.asgi(load("crypto").server.asgi(sessions="stateless"), revision=revision)


EVERY = [*SESSIONS, "2026-07-28"]


@pytest.mark.parametrize("revision", EVERY)
async def test_crypto_lists_what_it_says(revision: str) -> None:
    async with crypto(revision) as client:
        listed = await client.list_tools()

    assert [tool.name for tool in listed] == ["hash_text", "base64"]
    assert listed[0].input_schema["required"] == ["text"]
    assert listed[0].input_schema["properties"]["algorithm"]["default"] == "sha256"


@pytest.mark.parametrize("revision", EVERY)
async def test_crypto_does_what_it_is_asked(revision: str) -> None:
    async with crypto(revision) as client:
        answers = [
            await client.call("hash_text", text="hello"),
            await client.call("hash_text", text="hello", algorithm="md5"),
            await client.call("base64", text="hello"),
            await client.call("base64", text="aGVsbG8=", operation="decode"),
        ]

    assert answers == [
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        "5d41402abc4b2a76b9719d911017c592",
        "aGVsbG8=",
        "hello",
    ]


async def test_crypto_says_what_is_wrong() -> None:
    async with crypto("2026-07-28") as client:
        misfit = await client.call_raw("base64", {"text": "x", "operation": "melt"})
        broken = await client.call_raw("base64", {"text": "x", "operation": "decode"})
        unknown = await client.raw(client.requests.tools_call("melt", {"text": "x"}))

    assert misfit.text == (
        'invalid arguments for base64:\noperation: must be one of "encode", "decode", got "melt"'
    )
    assert broken.is_error
    assert broken.text.startswith("this is not Base64 of a text")
    assert_error(unknown, -32602)


async def test_crypto_begins_no_session() -> None:
    client = SessionClient(load("crypto").server.asgi(sessions="stateless"))
    await client.shake()

    assert client.session is None


def test_a_word_that_dev_does_not_know_is_refused_by_its_name() -> None:
    wrong = subprocess.run(["./dev", "frob"], cwd=ROOT, capture_output=True, text=True, check=False)
    asked = subprocess.run(["./dev", "help"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.endswith("./dev knows no 'frob'; it takes one of the words above\n")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert "  ./dev test  " in asked.stdout


def test_make_knows_the_commands_of_dev() -> None:
    dev = re.findall(r"^#   \./dev (\w+)", (ROOT / "dev").read_text(), re.MULTILINE)
    [targets] = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert sorted(targets.split()) == sorted(dev)
    assert f"\n{targets}:\n" in (ROOT / "Makefile").read_text()
