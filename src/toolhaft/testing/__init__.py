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
from .action_check import DoneTwice, acts_once
from .answers import Question, Unanswered, UnfitAnswer, UnusedAnswers
from .assertions import assert_error, assert_metrics, assert_resource, assert_same_in_every_era
from .change_stream import Heard, Notice
from .client import Client
from .client_options import ClientOptions
from .contracts.contract import ContractChanged, assert_contract, contract_of
from .contracts.snapshot import BadContract
from .play_call import Differs, Played, in_both_eras, play
from .requests import Requests, requests
from .results import PromptAnswer, ToolFailed, ToolResult
from .sync import SyncClient, SyncHeard
from .transcript.file_format import BadTranscript
from .transcript.player import Mismatch, replay
from .transcript.recorder import record, transcript

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
