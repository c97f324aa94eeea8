"""`requestState`: what is sealed comes back as it was, or not at all."""

import base64
import os
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from toolhaft import InternalError, InvalidParams
from toolhaft.protocol.elicitation.request_state import Binding, Seal
from toolhaft.protocol.elicitation.rounds import Entry, Pages
from toolhaft.server import aes_gcm

OLD, NEW = b"an old secret of 16 bytes", b"a new secret of 16 bytes"


class Desk:
    """A seal, with a clock that can be set and a log that can be read."""

    def __init__(self, *secrets: bytes, audience: str = "server", hides: bool = False) -> None:
        self.now = 1_000_000.0
        self.log: list[str] = []
        self.seal = Seal(
            secrets or (NEW,),
            audience,
            seconds=600,
            clock=lambda: self.now,
            random=os.urandom,
            cipher=aes_gcm.find if hides else lambda: None,
            refused=self.log.append,
        )

    def bound(self, **changes: object) -> Binding:
        call = {"method": "tools/call", "target": "order", "arguments": Raw(b'{"a": 1, "b": 2}')}
        return self.seal.binding(**{"principal": None, **call, **changes})  # type: ignore[arg-type]

    def sealed(self, **changes: object) -> str:
        pages = Pages(2, {"size": Entry("digest", Raw(b'{"action":"decline"}'), 1)})
        return self.seal.seal(self.bound(**changes), pages)

    def opened(self, state: str, **changes: object) -> Pages:
        return self.seal.open(Raw(msgspec.json.encode(state)), self.bound(**changes))

    def reason(self, state: str, **changes: object) -> str:
        with pytest.raises(InvalidParams) as refused:
            self.opened(state, **changes)
        assert (refused.value.code, str(refused.value)) == (
            -32602,
            "invalid or expired requestState",
        )
        [reason] = self.log
        return reason


def test_a_state_comes_back_as_it_was() -> None:
    desk = Desk()

    pages = desk.opened(desk.sealed())

    assert pages.round == 2
    assert bytes(pages.entries["size"].answer) == b'{"action":"decline"}'
    assert (pages.entries["size"].question, pages.entries["size"].misses) == ("digest", 1)


def test_a_state_may_be_opened_until_it_expires() -> None:
    desk = Desk()
    state = desk.sealed()

    desk.now += 600
    desk.opened(state)
    desk.now += 1

    assert desk.reason(state) == "expired"


def test_a_state_of_a_clock_that_is_ahead_is_good_within_a_minute() -> None:
    desk = Desk()
    state = desk.sealed()

    desk.now -= 60
    desk.opened(state)
    desk.now -= 1

    assert desk.reason(state) == "issued in the future"


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "prompts/get"},
        {"target": "other"},
        {"arguments": Raw(b'{"a": 1, "b": 3}')},
        {"arguments": {}},
        {"principal": "ann"},
    ],
)
def test_a_state_is_good_for_its_own_call_only(changes: dict[str, object]) -> None:
    desk = Desk()

    assert desk.reason(desk.sealed(), **changes) == "made for another call"


def test_a_state_of_another_server_is_refused() -> None:
    state = Desk(audience="other").sealed()

    assert Desk().reason(state) == "made for another call"


def test_a_state_of_another_principal_is_refused() -> None:
    desk = Desk()

    assert desk.reason(desk.sealed(principal="ann"), principal="bob") == "made for another call"


def test_arguments_may_be_spelled_in_another_way() -> None:
    desk = Desk()

    pages = desk.opened(desk.sealed(), arguments=Raw(b'{"b":2,"a":1}'))

    assert pages.round == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12345678901234567.10", "12345678901234567.20"),
        ("0.1", "0.10000000000000001"),
        ("1e400", "2e400"),
        ("123456789012345678901234567890", "123456789012345678901234567891"),
        ("9007199254740993", "9007199254740992"),
        ("1", "1.0000000000000001"),
    ],
)
def test_numbers_that_only_floats_cannot_tell_apart_are_different(one: str, other: str) -> None:
    """A parameter may be a `Decimal`: what is confirmed must be what is done."""
    desk = Desk()
    state = desk.sealed(arguments=Raw(b'{"pay": [%b]}' % one.encode()))

    desk.opened(state, arguments=Raw(b'{ "pay":[%b ]}' % one.encode()))

    reason = desk.reason(state, arguments=Raw(b'{"pay": [%b]}' % other.encode()))
    assert reason == "made for another call"


NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
)


@given(NUMBERS, st.data())
def test_arguments_with_the_same_binding_are_the_same_numbers(
    one: str, data: st.DataObject
) -> None:
    near = st.sampled_from([one, one + "0", one.replace("1", "2", 1), f"{float(one)!r}"])
    other = data.draw(near | NUMBERS)
    seal = Desk().seal

    first, second = (
        seal.binding("tools/call", "pay", Raw(b'{"a": {"b": %b}}' % text.encode()), None)
        for text in (one, other)
    )

    assert first != second or Decimal(one) == Decimal(other)


def test_no_arguments_are_an_empty_object() -> None:
    desk = Desk()
    state = desk.sealed(arguments=msgspec.UNSET)

    for same in (None, {}, Raw(b"{ }"), Raw(b"null")):
        assert desk.opened(state, arguments=same).round == 2


def test_a_secret_can_be_changed_while_calls_are_under_way() -> None:
    state = Desk(OLD).sealed()

    assert Desk(NEW, OLD).opened(state).round == 2
    assert Desk(OLD, NEW).opened(Desk(NEW, OLD).sealed()).round == 2
    assert "secret that is not known" in Desk(NEW).reason(state)


def test_nothing_of_the_secret_or_the_principal_is_in_a_state() -> None:
    desk = Desk()

    _, _, payload, _ = desk.sealed(principal="ann@example.org").split(".")
    text = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))

    assert b"ann" not in text
    assert NEW not in text


def test_a_state_that_would_be_too_large_is_an_error() -> None:
    desk = Desk()
    large = Raw(msgspec.json.encode({"content": "x" * 65536}))

    with pytest.raises(InternalError, match="do not fit into 65536 bytes"):
        desk.seal.seal(desk.bound(), Pages(1, {"a": Entry("", large)}))


@pytest.mark.parametrize("hides", [False, True])
@given(data=st.data())
def test_a_state_that_was_changed_anywhere_is_refused(hides: bool, data: st.DataObject) -> None:
    desk = Desk(hides=hides)
    state = desk.sealed()
    place = data.draw(st.integers(0, len(state) - 1))
    letter = data.draw(st.sampled_from("Aa0-_.=+/ é").filter(lambda each: each != state[place]))

    assert desk.reason(state[:place] + letter + state[place + 1 :])


@pytest.mark.parametrize("hides", [False, True])
@given(data=st.data())
def test_a_state_that_was_cut_or_prolonged_is_refused(hides: bool, data: st.DataObject) -> None:
    desk = Desk(hides=hides)
    state = desk.sealed()
    cut = state[: data.draw(st.integers(0, len(state) - 1))]
    longer = state + data.draw(st.text(min_size=1).filter(lambda text: text.isprintable()))

    assert desk.reason(cut)
    desk.log.clear()
    assert desk.reason(longer)


@pytest.mark.parametrize(
    "raw", [b"null", b"7", b"[]", b'{"a":1}', b'"\xff"', b'"' + b"x" * 70000 + b'"']
)
def test_what_is_no_text_is_refused(raw: bytes) -> None:
    desk = Desk()

    with pytest.raises(InvalidParams, match="invalid or expired requestState"):
        desk.seal.open(Raw(raw), desk.bound())


def test_with_a_cipher_a_state_cannot_be_read() -> None:
    desk = Desk(hides=True)
    state = desk.sealed()
    parts = [base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in state.split(".")]

    assert desk.opened(state).round == 2
    assert desk.sealed() != state
    assert not any(b"decline" in part or b"order" in part for part in parts)


def test_a_host_with_a_cipher_opens_what_one_without_has_sealed() -> None:
    assert Desk(hides=True).opened(Desk().sealed()).round == 2
    assert Desk().reason(Desk(hides=True).sealed()) == "sealed in a way that is not known here"


def test_a_hidden_state_is_bound_as_well() -> None:
    desk = Desk(hides=True)

    assert desk.reason(desk.sealed(), target="other") == "made for another call"


@pytest.mark.parametrize("state", ["", "...", "v1.a.b", "v1.a.b.c.d", "v1.é.b.c", "hello"])
def test_the_log_says_of_what_is_no_state_that_it_is_none(state: str) -> None:
    assert Desk().reason(state) in (
        "not one of ours",
        "sealed by somebody else, or with a secret that is not known any more",
    )


@pytest.mark.parametrize("hides", [False, True])
def test_the_log_says_where_a_seal_is_broken(hides: bool) -> None:
    state = Desk(hides=hides).sealed()
    other = "A" if state[-9] != "A" else "B"

    assert Desk(hides=hides).reason(f"{state[:-9]}{other}{state[-8:]}") == "the seal is broken"
    assert Desk(hides=hides).reason(state + "=") == "not one of ours"
