"""Every transcript is what the server does; and a wrong transcript is found out."""

from pathlib import Path

import pytest
from tests.transcripts.runner import parse, play, read

from toolhaft.testing import Mismatch
from toolhaft.testing.transcript.file_format import Transcript

FOLDER = Path(__file__).parent
TRANSCRIPTS = [each for path in sorted(FOLDER.glob("*.txt")) for each in read(path)]


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda transcript: transcript.id)
async def test_the_server_follows_the_transcript(transcript: Transcript) -> None:
    problem = None
    try:
        await play(transcript)
    except Mismatch as mismatch:
        problem = str(mismatch)

    if problem is not None:  # said without a traceback: the place in the transcript is enough
        pytest.fail(problem, pytrace=False)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_a_transcript_says_its_rule_first(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]

    assert first.startswith("# ")
    assert first.endswith(".")


RIGHT = """
> {"jsonrpc": "2.0", "id": 1, "method": "ping"}
< {"jsonrpc": "2.0", "id": 1, "result": {}}
"""


async def test_a_right_transcript_passes() -> None:
    for transcript in parse(RIGHT, "right.txt"):
        await play(transcript)


WRONG = {
    "another value": RIGHT.replace("{}", '{"more": 1}'),
    "an id of another type": RIGHT.replace('"id": 1, "result"', '"id": "1", "result"'),
    "true for 1": RIGHT.replace('"id": 1, "result"', '"id": true, "result"'),
    "a member too many": RIGHT.replace('< {"jsonrpc": "2.0", ', "< {"),
    "an answer that nobody expected": '> {"jsonrpc": "2.0", "id": 1, "method": "ping"}',
    "an answer where nothing should come": RIGHT.replace("<", "<- nothing\n<"),
    "an answer to a notification": RIGHT.replace('"id": 1, ', ""),
    "a word that is not said": """
> {"jsonrpc": "2.0", "id": 1, "method": "no/such"}
< {"jsonrpc": "2.0", "id": 1, "error": {"code": "<any>", "message": "<contains:bananas>"}}
""",
    "a group with a stranger": """
> {"jsonrpc": "2.0", "id": 1, "method": "ping"}
> {"jsonrpc": "2.0", "id": 2, "method": "ping"}
<* {"jsonrpc": "2.0", "id": 2, "result": {}}
<* {"jsonrpc": "2.0", "id": 3, "result": {}}
""",
    "too few elements in any order": """
@ revision 2025-03-26
>> [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]
< ["<unordered>"]
""",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
async def test_a_wrong_transcript_fails(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.transcripts.runner.PATIENCE", 0.2)
    [transcript] = parse(text, "wrong.txt")

    with pytest.raises(Mismatch, match=r"^wrong\.txt:\d+"):
        await play(transcript)


async def test_a_failure_says_where_what_and_why() -> None:
    [transcript] = parse(RIGHT.replace("{}", '{"more": 1}'), "wrong.txt")

    with pytest.raises(Mismatch) as failure:
        await play(transcript)

    assert str(failure.value).splitlines() == [
        "wrong.txt:3",
        '  expected {"jsonrpc": "2.0", "id": 1, "result": {"more": 1}}',
        '  got      {"jsonrpc": "2.0", "id": 1, "result": {}}',
        "  at result: no member 'more'",
    ]
