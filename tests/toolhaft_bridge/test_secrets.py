"""Secrets are left out of logs, at any depth."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.asking import NEW, OLD
from tests.traffic_lines import logged, tools

from toolhaft.testing import Client
from toolhaft_bridge.secrets import Secrets


@pytest.mark.parametrize(
    "key",
    [
        "authorization",
        "Authorization",
        "token",
        "access_token",
        "refreshToken",
        "PASSWORD",
        "client_secret",
        "api_key",
        "apiKey",
        "X-API-Key",
        "Set-Cookie",
        "credentials",
    ],
)
def test_secrets_are_left_out_at_any_depth(tmp_path: Path, key: str) -> None:
    frame = json.dumps({"params": [{"deep": {key: {"value": "hush"}}, "kept": 1}]}).encode()

    line = logged(tmp_path, frame)

    assert line["message"] == {"params": [{"deep": {key: "[redacted]"}, "kept": 1}]}


@pytest.mark.parametrize("key", ["progressToken", "maxTokens", "secretary", "tokens_used"])
def test_what_is_no_secret_stays(tmp_path: Path, key: str) -> None:
    line = logged(tmp_path, json.dumps({key: 5}).encode())

    assert line["message"] == {key: 5}


def test_secrets_in_json_that_is_a_string_are_left_out(tmp_path: Path) -> None:
    text = json.dumps({"user": "ada", "token": "hush"})
    frame = json.dumps({"content": [{"text": text}], "text": '{"token": "hush'}).encode()

    line = logged(tmp_path, frame)

    assert "hush" not in json.dumps(line)
    assert "ada" in json.dumps(line)


@pytest.mark.parametrize("revision", [NEW, OLD])
async def test_the_result_of_a_tool_gives_no_secret_away(tmp_path: Path, revision: str) -> None:
    path = tmp_path / "traffic.jsonl"
    async with Client.asgi(tools(log_traffic=path).asgi(), revision=revision) as client:
        answer = await client.call("login", user="ada", password="pw")

    text = path.read_text()
    assert answer == {"user": "ada", "token": "t0p"}
    assert "t0p" not in text
    assert '"pw"' not in text
    assert "ada" in text


@pytest.mark.parametrize(
    "text",
    ['{"password": "hush"', "password=hush&x=1", "Authorization: Bearer hush", "x api_key: hush"],
)
def test_secrets_in_what_is_no_json_are_left_out(tmp_path: Path, text: str) -> None:
    line = logged(tmp_path, text.encode())

    assert "hush" not in line["text"]
    assert "[redacted]" in line["text"]


VALUES = [
    '"hu\\"sh"', '"a" hush', '"a"hush"', '{"value": "hush"', '["a", "hush"', "'a hush'",
    "a b c hush", '\\"hush\\"', "`hush`", "\n\n   hush", '{"a": [}, "b": "hush"', '"a\nhush"',
    "“hush”",
]  # fmt: skip


KEYS = ["password", "pass\\u0077ord", "access_token", "X-Api-Key", "SECRET"]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "between", ['": ', '" ', "': ", "=", " : ", '\\": ', '\\\\\\": ', ">", "%3D"]
)
@pytest.mark.parametrize("key", KEYS)
def test_no_value_under_such_a_key_is_in_the_log_of_malformed_json(
    tmp_path: Path, key: str, between: str, value: str
) -> None:
    text = f'{{"kept": 1, "{key}{between}{value}, "x": '

    whole = logged(tmp_path, text.encode())
    (tmp_path / "log").unlink()
    inside = logged(tmp_path, json.dumps({"text": text}).encode())

    assert "hush" not in json.dumps([whole, inside], ensure_ascii=False)
    assert whole["text"].startswith('{"kept": 1, "')


@given(st.sampled_from(KEYS), st.text(), st.text())
def test_whatever_stands_around_it_no_value_leaks(key: str, before: str, after: str) -> None:
    secrets = Secrets(
        ["password", "token", "api_key", "secret"],
        decode=json.loads,
        encode=json.dumps,
        unfit=(ValueError,),
        longest=10_000,
    )

    assert "hush" not in secrets.cleaned_text(f'{before}"{key}":{after}hush')


@pytest.mark.parametrize("key", ["progressToken", "progress_token", "maxTokens", "secretary"])
def test_what_is_no_secret_stays_in_malformed_json(tmp_path: Path, key: str) -> None:
    line = logged(tmp_path, f'{{"{key}": "shown"'.encode())

    assert line["text"] == f'{{"{key}": "shown"'


def test_which_keys_are_left_out_can_be_said(tmp_path: Path) -> None:
    line = logged(tmp_path, b'{"pin": 1234, "token": "shown"}', redact=["PIN"])

    assert line["message"] == {"pin": "[redacted]", "token": "shown"}
