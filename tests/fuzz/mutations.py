"""Small changes to bytes that lead to where bugs are: a bit, a cut, a token, a part once more."""

import random
from collections.abc import Callable, Sequence

Mutation = Callable[["Mutator", bytes, random.Random], bytes]


class Mutator:
    """Changes inputs of one kind.

    Args:
        corpus: inputs that are good, of which parts are put into others.
        tokens: what means something to whoever reads the inputs.
    """

    def __init__(self, corpus: Sequence[bytes], tokens: Sequence[bytes]) -> None:
        self.corpus = corpus
        self.tokens = tokens

    def one_of(self, corpus: Sequence[bytes], chance: random.Random) -> bytes:
        """An input of the corpus, changed a few times."""
        data = chance.choice(corpus)
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            data = chance.choice(MUTATIONS)(self, data or b"{}", chance)
        return data

    def once(self, data: bytes, chance: random.Random) -> bytes:
        """An input that is not empty, changed once."""
        return chance.choice(MUTATIONS)(self, data, chance)


def _flip(_: Mutator, data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _bit in range(chance.randint(1, 4)):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _truncate(_: Mutator, data: bytes, chance: random.Random) -> bytes:
    cut = chance.randrange(len(data))
    return data[:cut] if chance.random() < 0.7 else data[cut:]


def _insert(mutator: Mutator, data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    token = chance.choice(mutator.tokens) * chance.choice((1, 1, 2, 3))
    return data[:place] + token + data[place:]


def _overwrite(mutator: Mutator, data: bytes, chance: random.Random) -> bytes:
    place, token = chance.randrange(len(data)), chance.choice(mutator.tokens)
    return data[:place] + token + data[place + len(token) :]


def _splice(mutator: Mutator, data: bytes, chance: random.Random) -> bytes:
    other = chance.choice(mutator.corpus)
    return data[: chance.randrange(len(data))] + other[chance.randrange(len(other)) :]


def _duplicate(_: Mutator, data: bytes, chance: random.Random) -> bytes:
    """A part of the input stands twice; often that is a member."""
    commas = [place for place, byte in enumerate(data) if byte in b",{}"]
    if len(commas) < 2:
        return data + data
    start, stop = sorted(chance.sample(commas, 2))
    return data[:stop] + data[start:stop] + data[stop:]


def _nest(mutator: Mutator, data: bytes, chance: random.Random) -> bytes:
    depth = chance.choice((3, 10, 50, 200, 1100, 5000) if chance.random() < 0.2 else (3, 30, 90))
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'{"id":', b"}")))
    value = opening * depth + b"1" + closing * chance.choice((depth, depth, depth - 1, 0))
    return _put_value(mutator, data, value, chance)


def _long_number(mutator: Mutator, data: bytes, chance: random.Random) -> bytes:
    digits = b"9" * chance.choice((18, 19, 20, 21, 40, 400, 4299, 4300, 4301, 6000))
    shape = chance.choice((b"%b", b"-%b", b"%b.5", b"0.%b", b"1e%b", b"-%be-7"))
    return _put_value(mutator, data, shape % digits, chance)


def _put_value(mutator: Mutator, data: bytes, value: bytes, chance: random.Random) -> bytes:
    """In place of a value, or anywhere."""
    colons = [place for place, byte in enumerate(data) if byte == ord(":")]
    if not colons or chance.random() < 0.1:
        return _insert(mutator, data + value, chance)
    start = chance.choice(colons) + 1
    rest = data[start:]
    ends = [place for place in (rest.find(b","), rest.find(b"}")) if place >= 0]
    return data[:start] + value + rest[min(ends, default=len(rest)) :]


def _as_batch(mutator: Mutator, data: bytes, chance: random.Random) -> bytes:
    other = chance.choice(mutator.corpus)
    return b"[" + b",".join((data, other, data)) + chance.choice((b"]", b"]]"))


MUTATIONS: list[Mutation] = [
    _flip, _flip, _truncate, _insert, _insert, _overwrite, _splice, _duplicate, _nest,
    _long_number, _as_batch,
]  # fmt: skip
