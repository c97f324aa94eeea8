"""For tests of servers: a client of every revision, assertions, and what else a test needs.

    from toolhaft.testing import Client

    async def test_an_order() -> None:
        async with Client(server, answers={"How many?": 3}) as client:
            assert await client.call("order") == "3 ordered"

`Client.stdio`, `Client.http` and `Client.asgi` test the same over other ways, `SyncClient` without
`await`. For pytest there are the fixture `mcp_client`, which talks to what a fixture `server`
returns, and the marker `eras`.
"""

from ..client.failures import BadAnswer, ClientRefused, NoAnswer, Refused, ServerGone
from ..client.wire import Passed, Wire
from .acting import DoneTwice, acts_once
from .answers import Question, Unanswered, UnfitAnswer, UnusedAnswers
from .assertions import assert_error, assert_metrics, assert_resource, assert_same_in_every_era
from .client import Client
from .contract import ContractChanged, assert_contract, contract_of
from .hearing import Heard, Notice
from .options import ClientOptions
from .playing import Differs, Played, in_both_eras, play
from .recording import record, transcript
from .replaying import Mismatch, replay
from .requests import Requests, requests
from .results import PromptAnswer, ToolFailed, ToolResult
from .snapshot import BadContract
from .sync import SyncClient, SyncHeard
from .transcripts import BadTranscript

__all__ = [
    "BadAnswer",
    "BadContract",
    "BadTranscript",
    "Client",
    "ClientOptions",
    "ClientRefused",
    "ContractChanged",
    "Differs",
    "DoneTwice",
    "Heard",
    "Mismatch",
    "NoAnswer",
    "Notice",
    "Passed",
    "Played",
    "PromptAnswer",
    "Question",
    "Refused",
    "Requests",
    "ServerGone",
    "SyncClient",
    "SyncHeard",
    "ToolFailed",
    "ToolResult",
    "Unanswered",
    "UnfitAnswer",
    "UnusedAnswers",
    "Wire",
    "acts_once",
    "assert_contract",
    "assert_error",
    "assert_metrics",
    "assert_resource",
    "assert_same_in_every_era",
    "contract_of",
    "in_both_eras",
    "play",
    "record",
    "replay",
    "requests",
    "transcript",
]
